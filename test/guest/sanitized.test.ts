import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestCaisson, type TestCaisson } from "../harness.ts";

/** Signals that do not exist: native/sanitized/report.c makes a mistake of its own at each. */
const mistakes = [
  { what: "a write past the end of a block", number: 9001, finding: /heap-buffer-overflow/ },
  { what: "a sum that no int holds", number: 9002, finding: /integer-overflow at .*report\.c:\d+/ },
];

describe("the sanitized guest", () => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson();
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
  });

  it("goes on after signals that do exist", async () => {
    await using sandbox = await test.caisson.createSandbox({ engine: "container" });
    const stream = sandbox.wire.open("process", { arguments: ["/bin/sleep", "100"] }, () => undefined);
    await stream.started;
    stream.signal(15);
    expect(await stream.exit).toMatchObject({ signal: 15 });
    expect((await sandbox.exec({ command: "echo alive", trackFiles: false })).stdout).toBe("alive\n");
  });

  it("ends runs at their limits", async () => {
    await using sandbox = await test.caisson.createSandbox({ engine: "container" });
    const run = (command: string, limits: object) => sandbox.exec({ command, limits, trackFiles: false });
    expect(await run("sleep 100 & sleep 100", { timeoutMs: 100 })).toMatchObject({ timed_out: true });
    const busy = { arguments: ["/bin/sh", "-c", "while :; do :; done"], cpuMs: 200 };
    expect(await sandbox.wire.open("process", busy, () => undefined).exit).toMatchObject({ cpuLimit: true });
    const hold = { language: "python", code: "import time; a=bytearray(120<<20); time.sleep(100)" } as const;
    const limits = { memoryBytes: 64 * 1024 ** 2 };
    expect(await sandbox.executeCode({ ...hold, limits, trackFiles: false })).toMatchObject({ oom_killed: true });
  });

  it.each(mistakes)("ends at $what, and the host is told what and where", async ({ number, finding }) => {
    await using sandbox = await test.caisson.createSandbox({ engine: "container" });
    const stream = sandbox.wire.open("process", { arguments: ["/bin/sleep", "100"] }, () => undefined);
    await stream.started;
    const ended = stream.exit.catch((error: unknown) => error);
    stream.signal(number);
    expect(await ended).toMatchObject({ code: "unavailable", message: expect.stringMatching(finding) });
  });
});
