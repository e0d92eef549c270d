import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { engines, root } from "../harness.ts";
import { openTestServer } from "./server.ts";

const text = readFileSync(join(root, "docs/rest.md"), "utf8");
const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = ""]) => block);

/** What the lines say is the same on every engine. */
const [engine = "container"] = engines;

describe("docs/rest.md", () => {
  it("says what works: every line runs, and nothing is refused", async () => {
    await using server = await openTestServer(engine);
    const folder = await mkdtemp("/var/tmp/caisson-docs-");
    const { token } = await server.keyring.issue({ name: "docs", namespace: "default", role: "admin" });
    await writeFile(join(folder, "admin-key"), `${token}\n`);
    const curl = join(folder, "curl");
    const small = join(import.meta.dirname, "small-curl.mjs");
    await writeFile(curl, `#!/bin/sh\nexec '${process.execPath}' '${small}' "$@"\n`, { mode: 0o755 });
    const script = [
      "set -eu",
      ...blocks
        .join("")
        .split("\n")
        .flatMap((line) => (line.startsWith("URL=") ? [`URL=${server.base}`] : [line, "echo"])),
    ].join("\n");
    // Real curl where there is one.
    const env = { PATH: `${process.env.PATH}:${folder}`, CAISSON_HOME: folder };
    const { stdout } = await promisify(execFile)("sh", ["-c", script], { cwd: folder, env, maxBuffer: 16 * 1024 ** 2 });
    await rm(folder, { recursive: true });
    expect(stdout).not.toContain("urn:caisson:error");
    for (const shown of [
      '"stdout":"hello\\n"',
      '"path":"hello.txt","action":"created"',
      '"stdout":"42\\n"',
      "event: result",
      '"name":"data.csv","type":"file","size":8',
      "a,b\n1,2\n",
      '"ok":true',
      '"status":"ready"',
    ])
      expect(stdout).toContain(shown);
    expect(
      await server.fleet.list(
        { principal: { id: "", name: "", namespace: "default", role: "admin" }, requestId: "" },
        { limit: 1 },
      ),
    ).toEqual([]);
  });
});
