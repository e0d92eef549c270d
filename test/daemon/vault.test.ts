import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import { filesWith } from "../vault/fixture.ts";
import { freePort, type Outcome, caisson as run, upTimeoutMs } from "./up.ts";

const value = "v4ult-value-of-the-command-line";

describe("the vault of a daemon", { timeout: upTimeoutMs }, () => {
  let home: string;
  let own: Record<string, string>;
  let id: string;
  const caisson = (args: string[], more: Record<string, string> = {}) => run(args, { ...own, ...more });
  const said = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await caisson(args);
    expect(`${code} ${stderr}`, args.join(" ")).toBe("0 ");
    return stdout.trim();
  };
  /** With a terminal of its own, in which that is typed after the question, or with that as its input. */
  const given = (args: string[], input: string, typed = false): Promise<Outcome> => {
    const driver = typed
      ? ["python3", join(root, "test/cli/terminal.py"), join(root, "caisson")]
      : [join(root, "caisson")];
    const [program = "", ...before] = driver;
    const env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("CAISSON_"))),
      ...own,
    };
    const child = spawn(program, [...before, ...args], { env, stdio: "pipe" });
    let [stdout, stderr, asked] = ["", "", false];
    child.stdout.on("data", (text) => {
      stdout += text;
      if (!typed || asked || !stdout.includes("not shown")) return;
      asked = true;
      child.stdin.write(`${JSON.stringify({ type: input })}\n`);
    });
    child.stderr.on("data", (text) => {
      stderr += text;
    });
    if (!typed) child.stdin.end(input);
    return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
  };

  beforeAll(async () => {
    home = await mkdtemp("/var/tmp/caisson-vault-up-");
    await writeFile(join(home, "caisson.yaml"), "pool:\n  size: 0\nengine: container\nmax_storage_mb: 64\n");
    own = { CAISSON_HOME: home, CAISSON_PORT: String(await freePort()) };
    expect(await caisson(["up", "--detach"])).toMatchObject({ code: 0, stderr: "" });
  }, upTimeoutMs);
  afterAll(async () => {
    await caisson(["rm", id]);
    await caisson(["down"]);
    await vi.waitFor(() => expect(findLeaks(home)).toEqual([]), 20_000);
    await rm(home, { recursive: true });
  }, upTimeoutMs);

  it("[CLI-05] takes values from standard input, a prompt that does not show them, or with a warning an argument", async () => {
    expect(await given(["vault", "add", "PIPED", "--unbound"], `${value}\n`)).toMatchObject({
      code: 0,
      stdout: "PIPED: version 1\n",
      stderr: "",
    });
    const typed = await given(["vault", "add", "TYPED"], `x\x7f${value}\r`, true);
    expect(typed.stdout).toContain("TYPED: version 1");
    expect(typed.stdout).not.toContain(value);
    const argued = await caisson(["vault", "add", "ARGUED", "an argument", "--namespace", "default"]);
    expect(argued).toMatchObject({ code: 0, stderr: expect.stringContaining("other users of this machine can see") });
    expect(argued.stdout).toMatch(/^ARGUED: version 1\nin all sandboxes of the namespace as \$ARGUED \(binding /);
    const host = ["--header", "Authorization", "--host", "api.example.com", "--env", "API"];
    const bound = await caisson(["vault", "bind", "ARGUED", "--all", ...host]);
    expect(bound.stderr).toMatch(/^caisson: warning: code can still read the value .*caisson vault unbind ARGUED /);
    const hidden = await given(["vault", "add", "HIDDEN", "--all", ...host.with(-1, "HIDDEN")], `${value}\n`);
    expect(hidden.stdout).toMatch(
      /^HIDDEN: version 1\nin all sandboxes of the namespace as Authorization at api\.example\.com, /,
    );
    expect(hidden.stdout.trim().split("\n")).toHaveLength(2);
    expect((await given(["vault", "add", "SHORT"], "12345\n")).stderr).toContain("minimum: 6 bytes");
    await said("vault", "bind", "PIPED", "--all", "--env", "PIPED");
    await said("vault", "bind", "PIPED", "--all");
    expect(await said("vault", "list")).toMatch(/^PIPED +1 +ready +any +all +\/run\/secrets\/PIPED/m);
    id = await said("create");
    expect(
      await said("exec", id, 'test "$PIPED" = "$TYPED" && test "$PIPED" = "$(cat /run/secrets/PIPED)" && echo $PIPED'),
    ).toBe("***REDACTED***");
    const read = "import os; print(os.environ.get('ARGUED'), len(os.environ['ARGUED']))";
    expect(await said("exec", "--language", "python", id, read)).toBe("***REDACTED*** 11");
    const [, , , , , , binding = ""] = /^TYPED.*$/m.exec(await said("vault", "list"))?.[0]?.split(/ {2,}/) ?? [];
    await said("vault", "unbind", "TYPED", binding);
    expect(await said("exec", id, 'echo "[$TYPED]"')).toBe("[]");
    expect(await said("vault", "rotate")).toBe("4 secrets encrypted with the new key");
    await said("env", "set", id, "MODE=fast", "LEVEL=3");
    await said("env", "unset", id, "LEVEL");
    expect(JSON.parse(await said("env", "list", id, "--json"))).toEqual({ MODE: "fast" });
    expect(await said("exec", id, 'echo "$MODE,$LEVEL"')).toBe("fast,");
    await said("vault", "delete", "TYPED");
    expect(await said("vault", "list")).not.toContain("TYPED");
  });

  it("[SEC-01] with another master key it does not start, says why, and touches nothing", async () => {
    await said("down");
    const state = async () => {
      const names = (await readdir(join(home, "daemon"))).filter((name) => /^(caisson\.db|vault-key)$/.test(name));
      return Promise.all(
        names.map(async (name) => [name, (await readFile(join(home, "daemon", name))).toString("hex")]),
      );
    };
    const before = await state();
    expect(before.map(([name]) => name).sort()).toEqual(["caisson.db", "vault-key"]);
    const key = randomBytes(32).toString("hex");
    const refused = await caisson(["up", "--detach"], { CAISSON_VAULT_KEY: key });
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("CAISSON_VAULT_KEY is not the master key that encrypts the vault's secrets");
    expect(refused.stderr).not.toContain(key);
    const command = join(home, "key-command");
    await writeFile(command, `#!/bin/sh\nexec cat ${join(home, "given-key")}\n`, { mode: 0o755 });
    await writeFile(join(home, "given-key"), key);
    const byCommand = await caisson(["up", "--detach"], { CAISSON_VAULT_KEY_COMMAND: command });
    expect(byCommand.stderr).toContain("the output of vault_key_command is not the master key");
    expect(await state()).toEqual(before);
    await writeFile(join(home, "given-key"), await readFile(join(home, "daemon/vault-key")));
    const started = await caisson(["up", "--detach"], {
      CAISSON_VAULT_KEY_COMMAND: command,
      CAISSON_SECRET_DEFAULT_GIVEN: "given by the environment",
    });
    expect(started).toMatchObject({ code: 0, stderr: "" });
    expect(await said("exec", id, "echo $PIPED; cat /run/secrets/PIPED")).toBe("***REDACTED***\n***REDACTED***");
    await said("vault", "bind", "GIVEN", "--sandbox", id, "--env", "GIVEN");
    expect(await said("exec", id, "echo $GIVEN")).toBe("***REDACTED***");
    expect(await said("config")).not.toContain("given by the environment");
  });

  it("[SEC-02] leaves the value in no file of the data folder", async () => {
    expect(await filesWith(home, Buffer.from(value))).toEqual([]);
    expect(await filesWith(home, Buffer.from("given by the environment"))).toEqual([]);
  });
});
