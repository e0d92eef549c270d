import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCaisson } from "../../packages/server/src/app.ts";
import { makeDataFolder, removeDataFolder } from "../data-folder.ts";
import { ordinary, root } from "../harness.ts";
import { freePort, upTimeoutMs } from "./up.ts";

interface Shown {
  command: string;
  output: string;
}

/** What the page's consoles show: each command, which goes on while a quotation is open, and what it says. */
function readConsoles(markdown: string): Shown[][] {
  const isOpen = (text: string) => text.split("'").length % 2 === 0;
  return [...markdown.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => {
    const shown: Shown[] = [];
    for (const line of block.split("\n")) {
      const last = shown.at(-1);
      if (last !== undefined && isOpen(last.command)) last.command += `\n${line}`;
      else if (line.startsWith("# ")) shown.push({ command: line.slice(2), output: "" });
      else if (last !== undefined && line !== "") last.output += `${line}\n`;
    }
    return shown;
  });
}

const consoles = readConsoles(await readFile(join(root, "README.md"), "utf8"));
const startsDaemon = (shown: Shown[]) => shown.some(({ command }) => command.startsWith("./caisson up"));
const runs = consoles.filter((shown) => !startsDaemon(shown)).flat();
const service = consoles.filter(startsDaemon).flat();

/** What differs from run to run: measures, ids, tokens, and what the page leaves out. */
function pattern(output: string): RegExp {
  const text = output
    .trimEnd()
    .replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")
    .replaceAll(/(?<=_ms":)\d+/g, "\\d+")
    .replaceAll(/(?<=token=)\w+…/g, "\\S+")
    .replaceAll(/(?<="id":"|uid 1000 on )\w+/g, "[a-z0-9]+")
    .replaceAll("…", "[^\\n]*");
  return new RegExp(`^${text}\\n?$`);
}

/** The result without what differs from run to run. */
const settled = (text: string) =>
  JSON.parse(text, (name, value) => {
    if (/^(duration_ms|cpu_ms|max_rss)$/.test(name)) return value > 0 ? "measured" : value;
    return name === "run_id" && value !== "" ? "drawn" : value;
  });

describe.skipIf(ordinary)("README.md", { timeout: upTimeoutMs }, () => {
  let home: string;
  let programs: string;
  let env: NodeJS.ProcessEnv;
  let port: number;
  beforeAll(async () => {
    home = await makeDataFolder("/var/tmp/caisson-readme-");
    programs = await mkdtemp("/var/tmp/caisson-programs-");
    const small = join(root, "test/http/small-curl.mjs");
    await writeFile(join(programs, "curl"), `#!/bin/sh\nexec '${process.execPath}' '${small}' "$@"\n`, { mode: 0o755 });
    port = await freePort();
    const others = Object.entries(process.env).filter(([name]) => !name.startsWith("CAISSON_"));
    env = {
      ...Object.fromEntries(others),
      CAISSON_HOME: home,
      CAISSON_PORT: String(port),
      CAISSON_POOL_SIZE: "0",
      CAISSON_MAX_STORAGE_MB: "64",
      PATH: `${process.env.PATH}:${programs}`, // real curl where there is one
    };
  }, upTimeoutMs);
  afterAll(async () => {
    await run("./caisson down");
    {
      await using owner = openCaisson({ home, root });
      for (const { id } of await owner.keptSandboxes()) await owner.destroySandbox(id);
    }
    await rm(programs, { recursive: true });
    await removeDataFolder(home);
  }, upTimeoutMs);

  /** What a console would show of it. */
  const run = (command: string): Promise<string> =>
    new Promise((resolve) => {
      execFile("sh", ["-c", `exec 2>&1\n${command}`], { env, cwd: root }, (_, stdout) => resolve(stdout));
    });
  /** The page's daemon is the one of this machine; the test's has a folder and a port of its own. */
  const here = (text: string) => text.replaceAll("/var/lib/caisson", home).replaceAll("7420", String(port));

  it("has a console for single runs, and one for the daemon", () => {
    expect([runs.length, service.length]).toEqual([4, 6]);
  });

  it.each(runs)("shows what this says: $command", async ({ command, output }) => {
    const said = await run(command);
    if (output.startsWith("{\n")) expect(settled(said)).toEqual(settled(output));
    else expect(said).toMatch(pattern(output));
  });

  it("[API-01] [CLI-01] shows what a daemon says, from its start to its end", async () => {
    const known: string[] = [];
    let ids: [string, string] = ["", ""];
    for (const { command, output } of service) {
      const line = here(command).replaceAll(...ids);
      const said = await run([...known, line].join("\n"));
      expect(said, line).toMatch(pattern(here(output)));
      if (/^\w+=/.test(line)) known.push(line);
      const idOf = (text: string) => /"id":"(\w+)"/.exec(text)?.[1];
      ids = [idOf(output) ?? ids[0], idOf(said) ?? ids[1]];
    }
  });
});
