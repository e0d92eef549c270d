import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { completion } from "../../packages/server/src/cli/completion.ts";
import { bashOffers } from "./bash-completion.ts";

const id = "abcdefghijkl2345";
const hostile = [
  `$(touch\${IFS}PWNED)`,
  "`touch\tPWNED`",
  `\${x:=$(touch\tPWNED)}`,
  `${id}\n$(>PWNED)`,
  `$(>PWNED)${id}`,
  "*",
  "ABCDEFGHIJKL2345",
  `${id}a`,
];

describe("completion of words that others chose", () => {
  let folder: string;
  let daemon: Server;
  let asked: string[];
  let variables: Record<string, string>;
  beforeEach(async () => {
    folder = await mkdtemp("/var/tmp/caisson-test-");
    asked = [];
    daemon = createServer((request, response) => {
      asked.push(request.url ?? "");
      const info = { status: "running", engine: "container", memory_mb: 1, created_at: "", session_key: null };
      const items = [...hostile, id].map((one) => ({ ...info, id: one }));
      response.setHeader("content-type", "application/json").end(JSON.stringify(items));
    });
    daemon.listen(0, "127.0.0.1");
    await once(daemon, "listening");
    variables = { CAISSON_URL: `http://127.0.0.1:${(daemon.address() as AddressInfo).port}`, CAISSON_API_KEY: "key" };
  });
  afterEach(async () => {
    daemon.close();
    await rm(folder, { recursive: true });
  });

  it("[CLI-03] has nothing but ids of what a daemon answers, and runs none of it", async () => {
    expect(await bashOffers(folder, ["inspect", ""], variables)).toEqual([id]);
    expect(await bashOffers(folder, ["cp", ""], variables)).toEqual([`${id}:`]);
    expect(await readdir(folder)).toEqual([]);
    expect(asked).toHaveLength(2);
  });

  it("[CLI-03] lets the same through in zsh and fish", () => {
    const filter = "| env LC_ALL=C grep -xE '[a-z2-7]{16}'\n";
    for (const shell of ["bash", "zsh", "fish"]) {
      const lines = (completion([shell]) ?? "").split("\n").filter((line) => line.includes(" ls <"));
      expect(lines.map((line) => `${line}\n`)).toEqual([expect.stringContaining(filter)]);
    }
  });

  it("[CLI-03] has files and folders as they are called, with spaces and stars", async () => {
    await mkdir(join(folder, "my folder"));
    for (const name of ["my file", "a*", "ab"]) await writeFile(join(folder, name), "");
    expect(await bashOffers(folder, ["create", "--config", ""], variables)).toEqual([
      "a*",
      "ab",
      "my file",
      "my folder",
    ]);
    expect(await bashOffers(folder, ["run", "--input", "my"], variables)).toEqual(["my folder"]);
    expect(await bashOffers(folder, ["cp", "my"], variables)).toEqual(["my file", "my folder"]);
  });
});
