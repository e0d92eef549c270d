import { describe, expect, it } from "vitest";
import { toCommand } from "../core/command.ts";
import type { Run } from "../core/run.ts";
import { observeRun } from "./observe-run.ts";

describe("a run under the eyes of an observer", () => {
  it("[EXE-14] has started before its program could connect anywhere", async () => {
    const starts: number[] = [];
    const observer = {
      outputBytes: 0,
      started: async ({ startedAtMs }: { startedAtMs: number }) => void starts.push(startedAtMs),
      ended: async () => undefined,
    };
    let connectedAtMs = 0;
    const start = async () => {
      connectedAtMs = Date.now();
      while (Date.now() === connectedAtMs); // the clock has gone on when the guest says that it runs
      return { result: new Promise(() => undefined) } as unknown as Run;
    };
    await observeRun(observer, "sandbox", toCommand({ what: { line: "true" } }), {}, start);
    expect(starts).toHaveLength(1);
    expect(starts[0]).toBeLessThanOrEqual(connectedAtMs);
  });
});
