import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OutputChannel } from "../../packages/server/src/core/wire.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

describe.each(engines)("running things (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 256 * 1024 ** 2 } });
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[EXE-01] lets code open its standard streams by name", async () => {
    const command = "cat /dev/stdin > /dev/stdout; echo err > /dev/stderr; echo more >> /dev/stdout";
    const result = await sandbox.exec({ command, stdin: "in\n" });
    expect(result).toMatchObject({ exit_code: 0, stdout: "in\nmore\n", stderr: "err\n" });
  });

  it("[EXE-01] finds Python as python and as python3", async () => {
    const { stdout } = await sandbox.exec({ command: "python --version; python3 --version; env python -c 'print(1)'" });
    expect(stdout).toMatch(/^(Python 3\S+\n)\1[1]\n$/);
  });

  it("[EXE-01] gives the result all its fields", async () => {
    const result = await sandbox.exec({ command: "echo out; echo err >&2; echo hi > made.txt; exit 3" });
    expect(result).toMatchObject({
      exit_code: 3,
      signal: null,
      stdout: "out\n",
      stderr: "err\n",
      oom_killed: false,
      timed_out: false,
      truncated: false,
      engine,
    });
    expect(result.duration_ms).toBeGreaterThanOrEqual(0);
    expect(result.cpu_ms).toBeGreaterThanOrEqual(0);
    expect(result.max_rss).toBeGreaterThan(0);
    expect(result.files_changed).toEqual([
      {
        path: "made.txt",
        action: "created",
        size_bytes: 3,
        sha256: "98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4",
      },
    ]);
  });

  it("[EXE-01] takes a command line or a list, a folder, variables and input", async () => {
    expect((await sandbox.exec({ command: ["echo", "a  b", "$HOME"] })).stdout).toBe("a  b $HOME\n");
    await sandbox.files.mkdir("deep/er");
    expect((await sandbox.exec({ command: "pwd", cwd: "/workspace/deep/er" })).stdout).toBe("/workspace/deep/er\n");
    expect((await sandbox.exec({ command: "echo $GREETING", env: { GREETING: "hej" } })).stdout).toBe("hej\n");
    expect((await sandbox.exec({ command: ["cat"], stdin: "typed" })).stdout).toBe("typed");
    expect((await sandbox.exec({ command: ["cat"] })).stdout).toBe("");
  });

  it("[EXE-01] passes large input whole", async () => {
    const body = Buffer.alloc(3_000_000, "0123456789");
    const result = await sandbox.exec({ command: "wc -c; true", stdin: body });
    expect(result.stdout.trim()).toBe(String(body.length));
  });

  it("[EXE-01] does not wait for input that the program leaves unread", async () => {
    const result = await sandbox.exec({ command: "exec 0<&-; echo done", stdin: Buffer.alloc(5_000_000) });
    expect(result).toMatchObject({ exit_code: 0, stdout: "done\n" });
  });

  it("[EXE-01] says when a program cannot be started, and why", async () => {
    await expect(sandbox.exec({ command: ["no-such-program"] })).rejects.toMatchObject({ code: "not_found" });
    await expect(sandbox.exec({ command: ["true"], cwd: "/nowhere" })).rejects.toMatchObject({ code: "not_found" });
    await expect(sandbox.exec({ command: ["/etc/passwd"] })).rejects.toMatchObject({ code: "forbidden" });
    await expect(sandbox.exec({ command: [] })).rejects.toMatchObject({ code: "invalid" });
    await expect(sandbox.exec({ command: ["a\0b"] })).rejects.toMatchObject({ code: "invalid" });
    await expect(sandbox.exec({ command: "true", allowedDomains: ["*.com"] })).rejects.toMatchObject({
      code: "invalid",
    });
    const allowed = { command: "true", allowedDomains: ["api.example.com"] };
    expect(await sandbox.exec(allowed)).toMatchObject({ exit_code: 0 });
  });

  it("[EXE-01] takes limits for one run, inside those of its sandbox", async () => {
    const hold = {
      language: "python",
      code: "import time; a=bytearray(120<<20); time.sleep(0.5); print(len(a))",
    } as const;
    expect(await sandbox.executeCode({ ...hold, limits: { memoryBytes: 64 * 1024 ** 2 } })).toMatchObject({
      oom_killed: true,
      stdout: "",
    });
    expect(await sandbox.executeCode(hold)).toMatchObject({ oom_killed: false, stdout: `${120 * 1024 ** 2}\n` });
    const fork = "for i in $(seq 12); do sleep 0.2 & done; wait";
    expect((await sandbox.exec({ command: fork, limits: { processes: 6 } })).stderr).toMatch(/fork/);
    expect((await sandbox.exec({ command: fork })).stderr).toBe("");
    expect(await sandbox.exec({ command: "sleep 9", limits: { timeoutMs: 200 } })).toMatchObject({ timed_out: true });
  });

  it.each([
    [{ timeoutMs: 3_601_000 }, "exceeds the maximum of 3600 s"],
    [{ cpuTimeMs: 3_601_000 }, "exceeds the maximum of 3600 s"],
    [{ memoryBytes: 9 * 1024 ** 3 }, "exceeds the maximum of 8 GB"],
    [{ processes: 513 }, "exceeds the maximum of 512"],
    [{ outputBytes: 1024 ** 3 }, "exceeds the maximum of 256 MB"],
  ])("[SBX-13] a run that asks for %j is invalid and told the cap", async (limits, message) => {
    await expect(sandbox.exec({ command: "true", limits })).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining(message),
    });
  });

  it("[EXE-01] tells the signal that ended a program", async () => {
    expect(await sandbox.exec({ command: "kill -SEGV $$" })).toMatchObject({ signal: "SIGSEGV", exit_code: 139 });
  });

  it("[EXE-01] asks for no more input once the program has closed its own", async () => {
    let asked = 0;
    const endless = (async function* () {
      for (;;) {
        asked++;
        yield Buffer.alloc(64 * 1024);
      }
    })();
    const run = await sandbox.start({ command: "exec 0<&-; sleep 1; echo done", stdin: endless, trackFiles: false });
    expect((await run.result).stdout).toBe("done\n");
    expect(asked).toBeLessThan(20);
  });

  it("[EXE-01] gives the caller the error of its own input or listener", async () => {
    const broken = (async function* () {
      yield Buffer.from("a");
      throw new Error("the source broke");
    })();
    await expect(sandbox.exec({ command: ["cat"], stdin: broken })).rejects.toThrow("the source broke");
    const onOutput = () => {
      throw new Error("the listener broke");
    };
    await expect((await sandbox.start({ command: "echo x; sleep 60", onOutput })).result).rejects.toThrow(
      "the listener broke",
    );
    expect((await sandbox.exec({ command: "echo alive" })).stdout).toBe("alive\n");
  });

  it("[EXE-02] streams output while the program runs, both channels in the order it was written", async () => {
    const seen: [OutputChannel, string][] = [];
    const first = Promise.withResolvers<void>();
    const run = await sandbox.start({
      command: "echo one; read line; echo two >&2; echo $line",
      stdin: (async function* () {
        await first.promise; // the program waits for this, which comes only after its first line was seen
        yield Buffer.from("three\n");
      })(),
      onOutput: (channel, chunk) => {
        seen.push([channel, chunk.toString()]);
        first.resolve();
        return undefined;
      },
    });
    await run.result;
    expect(
      seen
        .filter(([channel]) => channel === "stdout")
        .map(([, text]) => text)
        .join(""),
    ).toBe("one\nthree\n");
    expect(seen[0]).toEqual(["stdout", "one\n"]);
    expect(seen.map(([channel]) => channel).indexOf("stderr")).toBeGreaterThan(0);
    expect(seen.some(([channel, text]) => channel === "stderr" && text === "two\n")).toBe(true);
  });

  it("[EXE-02] what was written before on one channel comes before what is written after on the other", async () => {
    const seen: string[] = [];
    let next = Promise.withResolvers<void>();
    const lines = ["out 1", "err 1", "out 2", "err 2", "err 3", "out 3"];
    const say = lines.map((line) => `echo ${line} >&${line.startsWith("out") ? 1 : 2}; read _`).join("; ");
    const run = await sandbox.start({
      command: say,
      stdin: (async function* () {
        for (const _ of lines) {
          await next.promise; // the program writes its next line only after this one was seen
          next = Promise.withResolvers<void>();
          yield Buffer.from("\n");
        }
      })(),
      onOutput: (_channel, chunk) => {
        seen.push(chunk.toString().trim());
        next.resolve();
        return undefined;
      },
    });
    expect((await run.result).timed_out).toBe(false);
    expect(seen).toEqual(lines);
  });

  it("[EXE-02] holds a program back whose output nobody takes, while others run on", async () => {
    let taken = 0;
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const run = await sandbox.start({
      command: "head -c 20000000 /dev/zero; echo written >&2",
      onOutput: (channel, chunk) => {
        if (channel === "stdout") taken += chunk.length;
        return gate;
      },
    });
    for (let i = 0; i < 5; i++)
      expect((await sandbox.exec({ command: "echo other", trackFiles: false })).stdout).toBe("other\n");
    expect(taken).toBeLessThanOrEqual(256 * 1024);
    release();
    expect((await run.result).exit_code).toBe(0);
    expect(taken).toBe(20_000_000);
  });

  it("[EXE-02] a stream goes on when the rings of others hold all the memory there is for them", async () => {
    const stop = new AbortController();
    const talkers = await Promise.all(
      Array.from({ length: 10 }, () =>
        sandbox.start({
          command: "echo out; echo err >&2; sleep 60",
          signal: stop.signal,
          trackFiles: false,
          onOutput: () => undefined,
        }),
      ),
    );
    const result = await sandbox.exec({ command: "seq 1 20000", limits: { timeoutMs: 20_000 }, trackFiles: false });
    expect(result).toMatchObject({ exit_code: 0, timed_out: false });
    expect(result.stdout.length).toBe(108_894);
    stop.abort();
    await Promise.all(talkers.map((talker) => talker.result));
  });

  it("[EXE-02] a run that is cancelled as it begins ends too", async () => {
    const stop = new AbortController();
    const run = sandbox.exec({ command: "sleep 1000", signal: stop.signal, limits: { timeoutMs: 0 } });
    stop.abort(); // after it was looked at for the first time, and before the program is there
    expect(await run).toMatchObject({ signal: "SIGKILL", timed_out: false });
  });

  it("[EXE-02] a killed run ends though its listener takes nothing", async () => {
    const run = await sandbox.start({ command: "yes", trackFiles: false, onOutput: () => new Promise(() => {}) });
    run.kill();
    expect(await run.result).toMatchObject({ exit_code: 137 });
  });

  it("[EXE-05] executes python, node and shell code", async () => {
    expect((await sandbox.executeCode({ language: "python", code: "print(6*7)" })).stdout).toBe("42\n");
    expect((await sandbox.executeCode({ language: "node", code: "console.log(6*7)" })).stdout).toBe("42\n");
    expect((await sandbox.executeCode({ language: "shell", code: "echo $((6*7))" })).stdout).toBe("42\n");
  });

  it("[EXE-05] executes code longer than an argument can be, and leaves nothing of it", async () => {
    const code = `${"# padding\n".repeat(30_000)}print(__name__)`;
    const result = await sandbox.executeCode({ language: "python", code });
    expect(result).toMatchObject({ exit_code: 0, stdout: "__main__\n", files_changed: [] });
    expect((await sandbox.exec({ command: "ls -a | grep caisson-code | wc -l" })).stdout).toBe("0\n");
  });

  it("[EXE-05] takes code that removes its own file", async () => {
    const code = `${"# padding\n".repeat(30_000)}import os,sys\nos.remove(sys.argv[0])\nprint("gone")`;
    expect(await sandbox.executeCode({ language: "python", code })).toMatchObject({ exit_code: 0, stdout: "gone\n" });
  });

  it("[EXE-08] tells what was created, modified and deleted, and not what was only read", async () => {
    await sandbox.exec({
      command: "mkdir -p d; echo 1 > d/keep; echo 1 > d/change; echo 1 > d/gone; ln -s keep d/link",
    });
    const { files_changed } = await sandbox.exec({
      command: "cd d; cat keep; echo 22 >> change; rm gone; echo new > fresh; mv link renamed",
    });
    const rows = files_changed.map(({ path, action, size_bytes }) => `${action} ${path} ${size_bytes}`).sort();
    expect(rows).toEqual([
      "created d/fresh 4",
      "created d/renamed 4",
      "deleted d/gone 0",
      "deleted d/link 0",
      "modified d/change 5",
    ]);
  });

  it("[EXE-08] does not blame a run for files that were uploaded before it", async () => {
    await sandbox.files.write("uploaded.txt", "x");
    expect((await sandbox.exec({ command: "true" })).files_changed).toEqual([]);
  });

  it("[EXE-08] is not fooled by a forged modification time", async () => {
    await sandbox.exec({ command: "echo aaaa > forged; touch -d 2001-01-01 forged" });
    const { files_changed } = await sandbox.exec({ command: "echo bbbb > forged; touch -d 2001-01-01 forged" });
    expect(files_changed).toMatchObject([{ path: "forged", action: "modified" }]);
  });

  it("[EXE-08] says so when the workspace cannot be read, and loses no result", async () => {
    const result = await sandbox.exec({ command: "echo worked; chmod 0 /workspace" });
    expect(result).toMatchObject({ stdout: "worked\n", files_changed: [], files_changed_truncated: true });
    const after = await sandbox.exec({ command: "chmod 755 /workspace; echo again", cwd: "/" });
    expect(after.stdout).toBe("again\n");
  });

  it("[EXE-08] a hostile tree of long paths costs the host little, and is told as not seen whole", async () => {
    const code =
      "import os\nfor i in range(15): os.mkdir('d'*240); os.chdir('d'*240)\nopen('f','w').close()\nfor i in range(12000): os.link('f',f'l{i}')";
    const result = await sandbox.executeCode({ language: "python", code });
    expect(result).toMatchObject({ exit_code: 0, files_changed_truncated: true });
    expect(result.files_changed.length).toBeLessThanOrEqual(10_000);
    await sandbox.exec({ command: "rm -rf d*", trackFiles: false });
  }, 120_000);

  it("[SBX-12] cuts output past its limit and says so", async () => {
    const result = await sandbox.exec({
      command: "yes | head -c 500000; echo end >&2",
      limits: { outputBytes: 10_000 },
    });
    expect(result).toMatchObject({ truncated: true, exit_code: 0, stderr: "end\n" });
    expect(result.stdout.length).toBe(10_000);
  });

  it("[SBX-12] does not cut output within its limit", async () => {
    expect(
      (await sandbox.exec({ command: "head -c 10000 /dev/zero", limits: { outputBytes: 10_000 } })).truncated,
    ).toBe(false);
  });
});
