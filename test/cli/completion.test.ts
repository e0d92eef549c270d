import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { optionsOf } from "../../packages/server/src/cli/client/verb.ts";
import { clientVerbs } from "../../packages/server/src/cli/client/verbs.ts";
import { completion } from "../../packages/server/src/cli/completion.ts";
import { caisson, Up, upTimeoutMs } from "../daemon/up.ts";
import { engines } from "../harness.ts";
import { bashOffers } from "./bash-completion.ts";

const [engine = "container"] = engines;

describe("completion in bash", { timeout: upTimeoutMs }, () => {
  let folder: string;
  let up: Up;
  let id: string;
  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-test-");
    await mkdir(join(folder, "folder"));
    await writeFile(join(folder, "notes.txt"), "");
    up = await Up.start({ variables: { CAISSON_ENGINE: engine } });
    id = (await caisson(["create"], up.variables)).stdout.trim();
  }, upTimeoutMs);
  afterAll(async () => {
    await up[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  }, upTimeoutMs);

  const offered = (words: readonly string[], variables: Record<string, string> = {}) =>
    bashOffers(folder, words, variables);
  const withDaemon = (...words: string[]) => offered(words, up.variables);

  it("[CLI-03] has the second words of a command, and no files in their place", async () => {
    expect(await offered(["snapshot", ""])).toEqual(["create", "diff", "files", "list", "read", "restore", "rm"]);
    expect(await offered(["webhook", "re"])).toEqual(["retry"]);
    expect(await offered(["audit", ""])).toEqual(["export", "list", "verify"]);
    expect(await offered(["help", "snap"])).toEqual(["snapshot"]);
    expect(await offered(["help", "snapshot", "d"])).toEqual(["diff"]);
    expect(await offered(["completion", "z"])).toEqual(["zsh"]);
    expect(await offered(["mcp", "install", "cu"])).toEqual(["cursor"]);
    expect(await offered(["keys", "create", ""])).toEqual([]);
  });

  it("[CLI-03] has the long options of each command, which are those of its help", async () => {
    for (const name of ["keys create", "keys list", "update", "vault add", "cp"]) {
      const { stdout } = await caisson([...name.split(" "), "--help"], {});
      const found = await offered([...name.split(" "), "--"]);
      expect(found).toEqual([...stdout.matchAll(/^ {2}(?:-\w,| {3}) (--[\w-]+)/gm)].map(([, option]) => option).sort());
      expect(found.length).toBeGreaterThan(4);
    }
    expect(await offered(["keys", "delete", "--r"])).toEqual([]);
    expect(await offered(["run", "--mem"])).toEqual(["--memory"]);
    for (const [name, verb] of Object.entries(clientVerbs))
      expect(await offered([...name.split(" "), "--j"]), name).toEqual(
        Object.keys(optionsOf(verb))
          .filter((option) => option.startsWith("j"))
          .map((option) => `--${option}`),
      );
  });

  it("[CLI-03] has the values of options, and counts no value as a word", async () => {
    expect(await offered(["create", "--engine", "g"])).toEqual(["gvisor"]);
    expect(await offered(["create", "--engine", "=", "g"])).toEqual(["gvisor"]);
    expect(await offered(["create", "--engine", "="])).toContain("container");
    expect(await offered(["run", "-l", "p"])).toEqual(["python"]);
    expect(await offered(["run", "--input", ""])).toEqual(["folder"]);
    expect(await offered(["run", "--memory", "1G", "n"])).toEqual(["notes.txt"]);
    expect(await offered(["create", "--config", "n"])).toEqual(["notes.txt"]);
    expect(await offered(["create", "--memory", ""])).toEqual([]);
  });

  it("[CLI-03] has the ids of sandboxes where a command takes one, by either name of it", async () => {
    for (const words of [["inspect"], ["snapshot", "create"], ["skill", "ls"], ["rm", "x"], ["exec", "--timeout", "5"]])
      expect(await withDaemon(...words, ""), words.join(" ")).toEqual([id]);
    expect(await withDaemon("ps", "")).toEqual([id, "start"].sort());
    expect(await withDaemon("egress", "list", "--sandbox", id.slice(0, 3))).toEqual([id]);
    expect(await withDaemon("files", "cat", id, "")).toEqual([]);
    expect(await withDaemon("cp", "")).toEqual([`${id}:`, "folder", "notes.txt"].sort());
    expect(await withDaemon("cp", "notes.txt", id.slice(0, 3))).toEqual([`${id}:`]);
  });

  it("[CLI-03] says nothing where there is no daemon", async () => {
    expect(await offered(["inspect", ""], { CAISSON_HOME: join(folder, "nowhere") })).toEqual([]);
    expect(await offered(["inspect", ""], { CAISSON_URL: "http://127.0.0.1:9" })).toEqual([]);
    expect(await offered(["cp", "n"], { CAISSON_HOME: join(folder, "nowhere") })).toEqual(["notes.txt"]);
  });

  it("[CLI-03] is there for zsh and fish from the same table", () => {
    expect(completion(["zsh"])).toContain("complete -o filenames -F _caisson caisson\n");
    const lines = (completion(["fish"]) ?? "").split("\n");
    const seen = "__fish_seen_subcommand_from";
    expect(lines).toContain(
      `complete -c caisson -n '${seen} snapshot; and ${seen} restore' -f -a '(__caisson_sandboxes)'`,
    );
    expect(lines).toContain(
      `complete -c caisson -n '${seen} snapshot; and not ${seen} create list files read restore diff rm' -a 'create list files read restore diff rm'`,
    );
    expect(
      lines.some((line) => line.startsWith(`complete -c caisson -n '${seen} keys; and ${seen} create' -l role -r -f`)),
    ).toBe(true);
  });
});
