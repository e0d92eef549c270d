import { describe, expect, it } from "vitest";
import { engines, openTestCaisson } from "../harness.ts";

/** Code that every Python of this home runs as it starts, open to everybody: it notes whose process that was. */
const plant = `
import os, pathlib, sys
packages = pathlib.Path.home() / ".local/lib" / ("python%d.%d" % sys.version_info[:2]) / "site-packages"
packages.mkdir(parents=True)
(packages / "note.pth").write_text("import os; open('/tmp/notes/%d' % os.getuid(), 'w').close()\\n")
os.mkdir("/tmp/notes")
os.chmod("/tmp/notes", 0o777)
os.system("chmod -R a+rX ~")
`;

describe.each(engines)("code that awaits an interpreter (%s)", (engine) => {
  it("[EXE-07] is not run by one that starts as root", async () => {
    await using test = await openTestCaisson();
    const sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 256 * 1024 ** 2 } });
    const planted = await sandbox.exec({ command: ["python3", "-c", plant], trackFiles: false });
    expect(planted).toMatchObject({ exit_code: 0, stderr: "" });
    await expect
      .poll(async () => (await sandbox.executeCode({ language: "python", code: "print(1)", trackFiles: false })).warm, {
        timeout: 60_000,
      })
      .toBe(true);
    expect((await sandbox.exec({ command: "ls /tmp/notes", trackFiles: false })).stdout).toBe("1000\n");
    await sandbox.destroy();
  });

  it("[EXE-07] that ends before it has begun takes nothing else with it", async () => {
    await using test = await openTestCaisson();
    const sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 256 * 1024 ** 2 } });
    const run = (limits?: { timeoutMs: number }) =>
      sandbox.executeCode({ language: "python", code: "pass", trackFiles: false, ...(limits && { limits }) });
    await expect.poll(async () => (await run()).warm, { timeout: 60_000 }).toBe(true);
    const runs = await Promise.all(Array.from({ length: 200 }, () => run({ timeoutMs: 300 })));
    expect(runs.filter(({ exit_code, timed_out }) => exit_code !== 0 && !timed_out)).toEqual([]);
    expect(await run()).toMatchObject({ exit_code: 0 });
    await sandbox.destroy();
  }, 240_000);

  it("[EXE-07] has the memory it was given, whatever waits for the next", async () => {
    await using test = await openTestCaisson();
    const limits = { storageBytes: 256 * 1024 ** 2, memoryBytes: 128 * 1024 ** 2 };
    const sandbox = await test.caisson.createSandbox({ engine, warm: "start", limits });
    const fills = { python: "print(len(b'x' * 30_000_000))", node: "console.log(Buffer.alloc(30_000_000, 1).length)" };
    for (const language of ["python", "node", "python", "node", "python"] as const) {
      const result = await sandbox.executeCode({ language, code: fills[language], trackFiles: false });
      expect(result).toMatchObject({ exit_code: 0, stdout: "30000000\n", oom_killed: false });
    }
    await sandbox.destroy();
  });
});
