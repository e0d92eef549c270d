import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { engines, root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import { closeTerminals, ShellTerminal } from "./shell-terminal.ts";

let folder: string;
let home: string;
beforeAll(async () => {
  folder = await mkdtemp("/var/tmp/caisson-shell-");
  home = join(folder, "home");
});
afterEach(closeTerminals);
afterAll(async () => {
  expect(findLeaks(home)).toEqual([]);
  await rm(folder, { recursive: true });
});

const sit = (...args: string[]) => new ShellTerminal(folder, { CAISSON_HOME: home }, args);

/** Not a shell: one notes a signal, and forgets it when it becomes another program. */
const sleeper = `python3 -c "import signal; signal.signal(2, signal.SIG_DFL); print('beg' + 'un', flush=True); signal.pause()"`;
const prompt = "/workspace$ ";

describe.each(engines)("caisson shell (%s)", (engine) => {
  it("[EXE-04] is a shell on a terminal that follows the user's, with its keys and its exit code", async () => {
    const shell = sit("--engine", engine);
    await shell.sees("caisson");
    await shell.sees(prompt);
    shell.type("stty size; echo $TERM $(id -u) $PWD\r");
    await shell.sees("31 101\r\nxterm-256color 1000 /workspace\r\n");
    await shell.sees(prompt);
    shell.resize(42, 111);
    shell.type('until [ "$(stty size)" = "42 111" ]; do sleep 0.02; done; echo fol""lowed\r');
    await shell.sees("followed\r\n");
    await shell.sees(prompt);
    shell.type(`${sleeper}\r`);
    await shell.sees("begun\r\n");
    shell.type("\x03");
    await shell.sees(prompt);
    shell.type("exit 7\r");
    expect(await shell.ended).toEqual({ code: 7, raw: true, restored: true });
  });

  it("[EXE-04] a signal to Caisson ends the shell and restores the user's terminal", async () => {
    const shell = sit("--engine", engine);
    await shell.sees(prompt);
    shell.signal(15);
    expect(await shell.ended).toEqual({ code: 143, raw: true, restored: true });
  });
});

describe("caisson shell", () => {
  it("[EXE-04] ends with the user's terminal", async () => {
    const shell = sit("--engine", "container");
    await shell.sees(prompt);
    shell.hangUp();
    expect([129, 141]).toContain((await shell.ended).code); // by the signal, or by output that nobody takes
  });

  it("[EXE-04] Ctrl-Z stops a job and leaves Caisson alone; Ctrl-D ends the shell", async () => {
    const shell = sit("--engine", "container");
    await shell.sees(prompt);
    shell.type(`${sleeper}\r`);
    await shell.sees("begun\r\n");
    shell.type("\x1a");
    await shell.sees("Stopped");
    await shell.sees(prompt);
    shell.type("kill %1; wait; exec bash --norc\r");
    await shell.sees("$ ");
    shell.type("\x04");
    expect(await shell.ended).toMatchObject({ code: 0, restored: true });
  });

  it("[EXE-04] passes bytes as they are: line feeds stay single where the program says so", async () => {
    const shell = sit("--engine", "container", "--", "sh", "-c", "stty raw; printf 'up\\ndown'");
    expect(await shell.ended).toMatchObject({ code: 0, restored: true });
    expect(shell.text).toMatch(/up\ndown/);
  });

  it("[EXE-04] takes limits, folders and variables as run does", async () => {
    await mkdir(join(folder, "in"));
    await writeFile(join(folder, "in/given"), "from the host");
    const script = "cat input/given; echo $WHO; echo kept >output/kept; sleep 1000";
    const words = ["--engine", "container", "--input", "in", "--output", "out", "--env", "WHO=me"];
    const shell = sit(...words, "--timeout", "3", "--", "sh", "-c", script);
    await shell.sees("from the hostme\r\n");
    expect(await shell.ended).toMatchObject({ code: 124, restored: true });
    expect(shell.text).toMatch(/ended after 3 s/);
    expect(await readFile(join(folder, "out/kept"), "utf8")).toBe("kept\n");
  });

  it("[EXE-04] restores the terminal when the program cannot be started", async () => {
    const shell = sit("--engine", "container", "--", "no-such-program");
    expect(await shell.ended).toMatchObject({ code: 2, restored: true });
    expect(shell.text).toMatch(/no-such-program/);
  });

  it("[SBX-06] asks before it copies an input folder that holds credentials", async () => {
    const input = join(folder, "home-like");
    await mkdir(join(input, ".aws"), { recursive: true });
    const question = "'home-like' contains credentials (.aws). Copy it into the sandbox? [y/N] ";
    const refused = sit("--engine", "container", "--input", "home-like");
    await refused.sees(question);
    refused.type("n\r");
    expect(await refused.ended).toMatchObject({ code: 125, restored: true });
    const allowed = sit("--engine", "container", "--input", "home-like");
    await allowed.sees(question);
    allowed.type("y\r");
    await allowed.sees(prompt);
    allowed.type("ls -a input\r");
    await allowed.sees(".aws");
    allowed.type("exit\r");
    expect(await allowed.ended).toMatchObject({ code: 0, restored: true });
  });

  it("[EXE-04] is refused without a terminal; has help and completion", async () => {
    const caisson = (...args: string[]) =>
      new Promise<{ code: unknown; text: string }>((resolve) => {
        const env = { ...process.env, CAISSON_HOME: home };
        execFile(join(root, "caisson"), args, { env }, (error, stdout, stderr) =>
          resolve({ code: error?.code ?? 0, text: stdout + stderr }),
        ).stdin?.end();
      });
    expect(await caisson("shell")).toMatchObject({ code: 2, text: expect.stringMatching(/requires a terminal/) });
    expect((await caisson("shell", "--help")).text).toMatch(/COMMAND[\s\S]*--engine[\s\S]*--memory/);
    expect((await caisson("help", "shell")).text).toMatch(/usage: caisson shell/);
    expect((await caisson("completion", "bash")).text).toMatch(/'shell '\*\) at=2 options='--engine/);
  });
});
