import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../daemon/up.ts";
import { root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import { closeTerminals, ShellTerminal } from "./shell-terminal.ts";

let folder: string;
let variables: Record<string, string>;
let id: string;

interface Outcome {
  code: unknown;
  stdout: string;
  stderr: string;
}

function caisson(...args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(join(root, "caisson"), args, { env: { ...process.env, ...variables } }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout: stdout.trim(), stderr }),
    ).stdin?.end();
  });
}

const sleeping = () => caisson("exec", id, "pgrep -x sleep");
const sit = (...args: string[]) => new ShellTerminal(folder, variables, args);

/** Not a shell: it says that it was interrupted, and goes on. */
const patient = `import signal
signal.signal(2, lambda *_: print("inter" + "rupted", flush=True))
print("beg" + "un", flush=True)
signal.pause(); input(); exit(9)`;

describe("caisson shell in a sandbox of a daemon", () => {
  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-shell-in-");
    const home = join(folder, "home");
    const port = String(await freePort());
    variables = { CAISSON_HOME: home, CAISSON_PORT: port, CAISSON_ENGINE: "container", CAISSON_POOL_SIZE: "0" };
    expect(await caisson("up", "--detach")).toMatchObject({ code: 0, stderr: "" });
    id = (await caisson("create")).stdout;
  });
  afterEach(closeTerminals);
  afterAll(async () => {
    await caisson("rm", id);
    await caisson("down");
    await vi.waitFor(() => expect(findLeaks(join(folder, "home"))).toEqual([]), 20_000);
    await rm(folder, { recursive: true });
  });

  it("[CLI-01] [EXE-04] is a shell there that follows the user's terminal, with its keys, files and exit code", async () => {
    expect((await caisson("exec", id, "echo left >file")).code).toBe(0);
    const shell = sit(id);
    await shell.sees("$ ");
    shell.type("stty size; cat file; echo $TERM $(id -u)\r");
    await shell.sees("31 101\r\nleft\r\nxterm-256color 1000\r\n");
    shell.resize(42, 111);
    shell.type('until [ "$(stty size)" = "42 111" ]; do sleep 0.02; done; echo fol""lowed\r');
    await shell.sees("followed\r\n");
    shell.type("exit 7\r");
    expect(await shell.ended).toEqual({ code: 7, raw: true, restored: true });
    expect(JSON.parse((await caisson("inspect", id, "--json")).stdout).status).toBe("running");
  });

  it("[CLI-01] [EXE-04] runs a command behind --, to whom Ctrl-C goes, and to nobody else", async () => {
    const shell = sit(id, "--", "python3", "-c", patient);
    await shell.sees("begun\r\n");
    shell.type("\x03");
    await shell.sees("interrupted\r\n");
    shell.type("\r");
    expect(await shell.ended).toEqual({ code: 9, raw: true, restored: true });
  });

  it("[EXE-04] passes bytes as they are, from the first on", async () => {
    const shell = sit(id, "--", "sh", "-c", "stty raw; printf 'up\\ndown'");
    expect(await shell.ended).toMatchObject({ code: 0, restored: true });
    expect(shell.text).toMatch(/up\ndown/);
  });

  it("[EXE-04] a signal to Caisson hangs up and ends what runs there, and restores the user's terminal", async () => {
    const shell = sit(id, "--", "sh", "-c", "trap 'touch hung-up; exit' HUP; sleep 1000 & echo beg''un; wait");
    await shell.sees("begun");
    await vi.waitFor(async () => expect((await sleeping()).code).toBe(0), 20_000);
    shell.signal(15);
    expect(await shell.ended).toEqual({ code: 143, raw: true, restored: true });
    await vi.waitFor(async () => expect((await sleeping()).code).toBe(1), 20_000);
    expect((await caisson("files", "cat", id, "hung-up")).code).toBe(0);
  });

  it.each(["is told to end", "loses the user's terminal"])(
    "[EXE-04] ends what ignores hang-ups when it %s",
    async (why) => {
      const shell = sit(id, "--", "sh", "-c", "trap '' HUP; echo beg''un; sleep 1000");
      await shell.sees("begun");
      await vi.waitFor(async () => expect((await sleeping()).code).toBe(0), 20_000);
      if (why === "is told to end") shell.signal(15);
      else shell.hangUp();
      expect([129, 141, 143]).toContain((await shell.ended).code);
      await vi.waitFor(async () => expect((await sleeping()).code).toBe(1), 20_000);
    },
  );

  it("[CLI-03] says which sandbox is not there, what does not go with one, and that it needs a terminal", async () => {
    const unknown = sit("nosuchsandbox");
    expect(await unknown.ended).toEqual({ code: 2, raw: false, restored: true });
    expect(unknown.text).toContain('unknown sandbox "nosuchsandbox"');
    const daemonless = new ShellTerminal(folder, { ...variables, CAISSON_HOME: join(folder, "none") }, ["python3"]);
    expect(await daemonless.ended).toMatchObject({ code: 125, raw: false });
    expect(daemonless.text).toMatch(/no daemon is running for .*[\s\S]*caisson shell -- COMMAND/);
    for (const [words, told] of [
      [["shell", id], "requires a terminal"],
      [["shell", "--memory", "1G", id], "--memory applies to new sandboxes only"],
      [["shell", id, "python3"], "put the command after --"],
      [["shell", "--namespace", "other"], "--namespace requires SANDBOX"],
    ] as const)
      expect(await caisson(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining(told) });
  });
});
