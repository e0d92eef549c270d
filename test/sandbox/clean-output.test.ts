import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { redacted } from "../../packages/server/src/core/redaction.ts";
import { CleanOutput } from "../../packages/server/src/dlp/clean-output.ts";
import { redactionLimits } from "../../packages/server/src/dlp/limits.ts";
import { ValueRedactor } from "../../packages/server/src/dlp/redactor.ts";

const secret = "sk-live-4f9a0c27d1e8";
const { tickMs } = redactionLimits;

function output() {
  const redactor = new ValueRedactor();
  redactor.hide([Buffer.from(secret)]);
  const came: string[] = [];
  const streams = { stdout: redactor.stream("mark"), stderr: redactor.stream("mark") };
  const clean = new CleanOutput(streams, (channel, piece) => void came.push(`${channel} ${piece}`));
  return { clean, came };
}

describe("output that is looked through", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("[S86] waits as long for a text that begins like a value as for any other, and leaves whole", () => {
    for (const text of [secret.slice(0, 12), secret.slice(0, -1), "hello, what is it?", "\n"]) {
      const { clean, came } = output();
      clean.push("stdout", Buffer.from(text));
      vi.advanceTimersByTime(2 * tickMs - 1);
      expect(came).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(came).toEqual([`stdout ${text}`]);
      clean.end();
      expect(came).toHaveLength(1);
    }
  });

  it("leaves in the order it came, over both channels", () => {
    const { clean, came } = output();
    for (const [channel, word] of [
      ["stdout", "a"],
      ["stderr", "b"],
      ["stdout", "c"],
      ["stdout", "d"],
    ] as const)
      clean.push(channel, Buffer.from(word));
    vi.advanceTimersByTime(2 * tickMs);
    expect(came).toEqual(["stdout a", "stderr b", "stdout cd"]);
    clean.push("stderr", Buffer.from("e"));
    clean.push("stdout", Buffer.from("f"));
    clean.end();
    expect(came.slice(3)).toEqual(["stderr e", "stdout f"]);
  });

  it("[S86] waits a tick at least for what follows, so that a value written in two pieces is one", () => {
    const { clean, came } = output();
    clean.push("stdout", Buffer.from("x"));
    vi.advanceTimersByTime(tickMs);
    clean.push("stdout", Buffer.from(secret.slice(0, 10)));
    vi.advanceTimersByTime(tickMs);
    expect(came).toEqual(["stdout x"]);
    clean.push("stdout", Buffer.from(secret.slice(10)));
    clean.end();
    expect(came.join("")).toBe(`stdout xstdout ${redacted}`);
  });

  it("says when what the clock let out is done with, and lets nothing out once it is closed", async () => {
    const redactor = new ValueRedactor();
    redactor.hide([Buffer.from(secret)]);
    const { promise, resolve } = Promise.withResolvers<void>();
    const clean = new CleanOutput({ one: redactor.stream("mark") }, () => promise);
    clean.push("one", Buffer.from("a"));
    vi.advanceTimersByTime(2 * tickMs);
    const ended = clean.end();
    expect(ended).toBeInstanceOf(Promise);
    resolve();
    await ended;
    const { clean: closed, came } = output();
    closed.push("stdout", Buffer.from("a"));
    closed.close();
    vi.advanceTimersByTime(10 * tickMs);
    expect(came).toEqual([]);
  });
});
