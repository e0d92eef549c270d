import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError } from "../../packages/server/src/core/errors.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";
import { madeFile, Typist } from "./typist.ts";

const python = (code: string) => ["python3", "-c", code];
/** Says that it has begun, and sleeps. Not a shell: one notes a signal, and forgets it when it becomes another program. */
const sleeper = "import signal; signal.signal(2, signal.SIG_DFL); print('beg' + 'un', flush=True); signal.pause()";
const waitForFile = "import os, time\ndef wait(name):\n  while not os.path.exists(name): time.sleep(0.005)\n";

describe.each(engines)("terminals (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[EXE-04] a program leads a session in the foreground of a terminal of the size asked for", async () => {
    const code = `import os
print([os.isatty(fd) for fd in range(3)], tuple(os.get_terminal_size()))
print(os.getsid(0) == os.getpid() == os.tcgetpgrp(0) == os.getpgrp(), os.stat(os.ttyname(0)).st_uid)`;
    const typist = await Typist.start(sandbox, python(code), { terminal: { rows: 33, columns: 101 } });
    expect((await typist.run.result).exit_code).toBe(0);
    expect(typist.text).toBe("[True, True, True] (101, 33)\r\nTrue 1000\r\n");
  });

  it("[EXE-04] a new size is told to the foreground group with SIGWINCH", async () => {
    const code = `import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print("waiting", flush=True)
signal.sigwait([signal.SIGWINCH])
print(tuple(os.get_terminal_size()))`;
    const typist = await Typist.start(sandbox, python(code));
    await typist.sees("waiting");
    typist.run.resize({ rows: 50, columns: 132 });
    await typist.sees("(132, 50)");
    expect((await typist.run.result).exit_code).toBe(0);
  });

  it("[EXE-04] lines are echoed, and reach the program", async () => {
    const typist = await Typist.start(sandbox, "read line; echo got $line");
    await typist.type("hello\r");
    await typist.sees("hello\r\ngot hello\r\n");
    expect((await typist.run.result).exit_code).toBe(0);
  });

  it("[EXE-04] Ctrl-D ends a shell", async () => {
    const typist = await Typist.shell(sandbox);
    await typist.sees("ready> ");
    await typist.type("\x04");
    expect((await typist.run.result).exit_code).toBe(0);
  });

  it("[EXE-04] Ctrl-D ends the input of a program that reads lines", async () => {
    const typist = await Typist.start(sandbox, ["cat"]);
    await typist.type("helloo\x7f\r");
    await typist.sees("\r\nhello\r\n");
    await typist.type("\x04");
    expect((await typist.run.result).exit_code).toBe(0);
  });

  it("[EXE-04] Ctrl-C, Ctrl-\\ and Ctrl-Z reach the job in front, not the shell", async () => {
    const typist = await Typist.shell(sandbox);
    const job = `python3 -c "${sleeper}"\r`;
    for (const [key, code] of [
      ["\x03", 130],
      ["\x1c", 131],
    ] as const) {
      await typist.sees("ready> ");
      await typist.type(job);
      await typist.sees("begun\r\n");
      await typist.type(key);
      await typist.sees("ready> ");
      await typist.type("echo code $?\r");
      await typist.sees(`code ${code}\r\n`);
    }
    await typist.sees("ready> ");
    await typist.type("(echo be''gun; read line; echo got $line)\r");
    await typist.sees("begun\r\n");
    await typist.type("\x1a");
    await typist.sees("Stopped");
    await typist.sees("ready> ");
    await typist.type("fg\r");
    await typist.sees("echo got $line )\r\n");
    await typist.type("more\r");
    await typist.sees("got more\r\n");
    await typist.sees("ready> ");
    await typist.type("exit 7\r");
    expect((await typist.run.result).exit_code).toBe(7);
  });

  it("[EXE-04] Ctrl-Z does not stop a program that no shell could let go on", async () => {
    const typist = await Typist.start(sandbox, "echo begun; read line; echo got $line");
    await typist.sees("begun");
    await typist.type("\x1a");
    await typist.type("more\r");
    await typist.sees("got more\r\n");
    expect((await typist.run.result).exit_code).toBe(0);
  });

  it.each([
    ["a letter", "x", "x"],
    ["DEL", "^?", "\x7f"],
  ])("[EXE-04] %s interrupts when the terminal's modes say so", async (_what, name, key) => {
    const typist = await Typist.start(sandbox, python(`import os; os.system("stty intr '${name}'"); ${sleeper}`));
    await typist.sees("begun");
    await typist.type(key);
    expect(await typist.run.result).toMatchObject({ signal: "SIGINT", timed_out: false });
  });

  it("[EXE-04] every byte reaches a program that has the terminal raw", async () => {
    const code = `import os, sys, tty
tty.setraw(0)
print("raw", end="", flush=True)
seen = b""
while len(seen) < 256: seen += os.read(0, 256)
print(seen == bytes(range(256)), end="", flush=True)`;
    const typist = await Typist.start(sandbox, python(code));
    await typist.sees("raw");
    await typist.type(String.fromCharCode(...Array(256).keys()));
    await typist.run.result;
    expect(typist.text).toBe("rawTrue");
  });

  it("[EXE-04] a program may close its terminal and open it again; what is typed meanwhile waits", async () => {
    const code = `${waitForFile}
name = os.ttyname(0)
for fd in range(3): os.close(fd)
open("closed", "w").close()
wait("typed")
fd = os.open(name, os.O_RDWR)
os.write(fd, b"back\\n")
os.write(fd, b"<" + os.read(fd, 100).strip() + b">")`;
    const typist = await Typist.start(sandbox, python(code));
    await madeFile(sandbox, "closed");
    await typist.type("meanwhile\r");
    await sandbox.files.write("typed", "");
    await typist.sees("back");
    await typist.sees("<meanwhile>");
    expect((await typist.run.result).exit_code).toBe(0);
    await sandbox.files.remove("typed");
  });

  it("[EXE-04] a megabyte pasted while the program does not read arrives whole, raw and by lines", async () => {
    const line = `${"0123456789abcdef".repeat(62)}.......\r`;
    const paste = line.repeat(Math.ceil(1024 ** 2 / line.length));
    for (const mode of ["raw", "-echo"]) {
      const code = `${waitForFile}
import hashlib
os.system("stty ${mode} -echo")
open("ready", "w").close()
wait("go")
left, sum = ${paste.length}, hashlib.sha256()
while left > 0:
  piece = os.read(0, 65536)
  left -= len(piece)
  sum.update(piece.replace(b"\\n", b"\\r"))
print(sum.hexdigest())`;
      const typist = await Typist.start(sandbox, python(code));
      await madeFile(sandbox, "ready");
      const typed = typist.type(paste);
      await sandbox.files.write("go", "");
      await typist.sees(createHash("sha256").update(paste).digest("hex"));
      await typed;
      await typist.run.result;
      await sandbox.files.remove("go");
    }
  });

  it("[EXE-04] code runs on a terminal too, where an interpreter that waits has none", async () => {
    const code = "import os; print([os.isatty(fd) for fd in range(3)])";
    let text = "";
    const onOutput = (_channel: string, chunk: Buffer) => {
      text += chunk;
      return undefined;
    };
    const terminal = { rows: 24, columns: 80 };
    for (let i = 0; i < 2; i++) await sandbox.executeCode({ language: "python", code, terminal, onOutput });
    expect(text).toBe("[True, True, True]\r\n".repeat(2));
  });

  it("[EXE-04] all output arrives of a program that ends at once", async () => {
    const typist = await Typist.start(sandbox, ["seq", "60000"]);
    expect((await typist.run.result).exit_code).toBe(0);
    expect(typist.text).toBe(Array.from({ length: 60_000 }, (_, i) => `${i + 1}\r\n`).join(""));
  });

  it("[EXE-04] a run ends although a process that it leaves has its terminal", async () => {
    const left = "setsid sh -c 'trap \"\" HUP TERM; while :; do echo noise; done' &";
    const typist = await Typist.start(sandbox, `${left} echo $! >pid; exit 5`);
    expect((await typist.run.result).exit_code).toBe(5);
    const { stdout } = await sandbox.exec({ command: "kill -0 $(cat pid) 2>&1 || echo gone" });
    expect(stdout).toMatch(/gone/);
  });

  it("[EXE-04] a run ends although another run's process writes to its terminal without end", async () => {
    const typist = await Typist.start(sandbox, "tty; exec cat");
    await typist.sees("\r\n");
    const path = typist.text.trim();
    const other = await sandbox.start({ command: `while :; do cat /dev/zero >${path}; done 2>&-`, trackFiles: false });
    await typist.sees("\0");
    typist.run.signal(15);
    expect(await typist.run.result).toMatchObject({ signal: "SIGTERM" });
    other.kill();
    await other.result;
  });

  it("[EXE-04] a terminal that cannot be is refused, by the host and by the guest", async () => {
    for (const terminal of [
      { rows: 0, columns: 80 },
      { rows: 24, columns: 1001 },
      { rows: 1.5, columns: 80 },
    ])
      await expect(sandbox.start({ command: "true", terminal })).rejects.toMatchObject({ code: "invalid" });
    const plain = await sandbox.start({ command: ["cat"], stdin: "" });
    expect(() => plain.resize({ rows: 24, columns: 80 })).toThrow(AppError);
    await plain.result;
    const open = (terminal: { rows: number; columns: number }) =>
      sandbox.wire.open("process", { arguments: ["/bin/cat"], terminal }, () => undefined);
    expect(await open({ rows: 0, columns: 80 }).exit).toMatchObject({ startError: 22 });
    const stream = open({ rows: 24, columns: 80 });
    stream.resize({ rows: 24, columns: 65_000 });
    await expect(stream.exit).rejects.toMatchObject({ message: expect.stringMatching(/bad resize/) });
  });
});
