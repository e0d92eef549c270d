import { execFile } from "node:child_process";
import { copyFile, cp, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { root } from "../harness.ts";
import { auditEntry } from "../store/entries.ts";

let folder: string;
let home: string;
const daemon = () => join(home, "daemon");
const database = () => join(daemon(), "caisson.db");

beforeAll(async () => {
  folder = await mkdtemp("/var/tmp/caisson-audit-cli-");
  home = join(folder, "home");
  await using store = await openStore({ path: database() });
  await store.audit.record(auditEntry({ actor: "ann", sandboxId: "s1", detail: { note: "a\u001b[31mred" } }));
  await store.audit.record(auditEntry({ type: "file.written", sandboxId: "s1", detail: { path: "x.txt" } }));
  await store.audit.record(auditEntry({ type: "key.created", detail: { key_id: "k" } }));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

function outcomeOf(program: string, args: string[]): Promise<Outcome> {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("CAISSON_"));
  const env = { ...Object.fromEntries(others), CAISSON_HOME: home };
  return new Promise((resolve) => {
    execFile(program, args, { env, cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
    ).stdin?.end();
  });
}
const caisson = (...args: string[]) => outcomeOf(join(root, "caisson"), ["audit", ...args]);

async function copyOfStore(name: string): Promise<string> {
  const copy = join(folder, name);
  await cp(daemon(), copy, { recursive: true });
  return join(copy, "caisson.db");
}

describe("caisson audit", () => {
  it("[AUD-01] verifies the log without a daemon, and says what to note of it", async () => {
    const { code, stdout, stderr } = await caisson("verify");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^the audit log is whole\ndefault: rows 1 to 3, 1 signed checkpoints\ndefault:3:[0-9a-f]{64}\n$/,
    );
    const noted = stdout.trim().split("\n").at(-1) ?? "";
    expect((await caisson("verify", "--expect", noted)).code).toBe(0);
    expect((await caisson("verify", "--expect", noted.replace(":3:", ":4:"))).code).toBe(1);
  });

  it("[AUD-01] verifies a log that a daemon is writing", async () => {
    const path = await copyOfStore("running");
    await using store = await openStore({ path });
    await store.audit.record(auditEntry());
    const { code, stdout } = await caisson("verify", "--file", path, "--json");
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, ok: true, rows: 4, chains: [{ last: 4 }] });
  });

  it("[AUD-01] ends with 1 and names the row when the log was edited", async () => {
    const path = await copyOfStore("edited");
    const db = new DatabaseSync(path);
    db.exec("update audit set actor = 'bob' where sequence = 2");
    db.close();
    const { code, stdout } = await caisson("verify", "--file", path);
    expect(code).toBe(1);
    expect(stdout).toContain("default row 2: does not match its hash\nthe audit log is NOT whole\n");
  });

  it("[AUD-01] verifies a copy of the database alone, on a disk that cannot be written, with the key from elsewhere", async () => {
    const copy = join(folder, "alone");
    await mkdir(copy);
    await copyFile(database(), join(copy, "caisson.db"));
    expect((await caisson("verify", "--file", join(copy, "caisson.db"))).stderr).toContain("--key FILE");
    const readOnly = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"';
    const args = ["audit", "verify", "--file", join(copy, "caisson.db"), "--key", join(daemon(), "signing-key.pem")];
    const outcome = await outcomeOf("unshare", [
      "-rm",
      "sh",
      "-c",
      readOnly,
      "sh",
      copy,
      join(root, "caisson"),
      ...args,
    ]);
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    expect(await readdir(copy)).toEqual(["caisson.db"]);
  });

  it("[AUD-02] lists rows by what they are about, without obeying what is in them", async () => {
    const { code, stdout } = await caisson("list", "--sandbox", "s1");
    expect(await caisson("--sandbox", "s1")).toEqual({ code, stdout, stderr: "" });
    expect(code).toBe(0);
    expect(stdout.trim().split("\n")).toHaveLength(2);
    expect(stdout).not.toContain("\u001b");
    const { stdout: json } = await caisson("list", "--json", "--text", "K", "--type", "key.created");
    expect(JSON.parse(json)).toMatchObject([{ sequence: 3, type: "key.created", detail: { key_id: "k" } }]);
    expect(JSON.parse((await caisson("list", "--json", "--since", "2999-01-01")).stdout)).toEqual([]);
  });

  it("[AUD-05] exports rows as JSON lines and as events of OCSF", async () => {
    const lines = (text: string) =>
      text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    const plain = lines((await caisson("export")).stdout);
    expect(plain.map(({ sequence, type }) => [sequence, type])).toEqual([
      [1, "sandbox.created"],
      [2, "file.written"],
      [3, "key.created"],
    ]);
    const ocsf = lines((await caisson("export", "--format", "ocsf")).stdout);
    expect(ocsf.map(({ class_uid }) => class_uid)).toEqual([6003, 1001, 3001]);
  });

  it("says what is not there, and what cannot be asked", async () => {
    expect(await caisson("verify", "--file", join(folder, "none.db"))).toMatchObject({ code: 2 });
    expect(await caisson("burn")).toMatchObject({ code: 2 });
    expect(await caisson("verify", "--expect", "1:2")).toMatchObject({ code: 2 });
    expect((await caisson("--help")).stdout).toContain("usage: caisson audit");
  });
});
