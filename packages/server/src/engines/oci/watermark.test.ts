import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { engineLimits } from "../../core/limits.ts";
import { Freezer } from "./freezer.ts";
import { DiskWatermark } from "./watermark.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the watermark of the disk", () => {
  it("[SBX-10] freezes sandboxes while the disk is nearly full, and lets them go after", async () => {
    let freeBytes = engineLimits.diskWatermarkBytes;
    let frozen = false;
    const freezer = new Freezer({
      freeze: async () => {
        frozen = true;
      },
      thaw: async () => {
        frozen = false;
      },
    });
    const fail = vi.fn();
    using _ = new DiskWatermark(
      async () => freeBytes,
      () => [freezer],
      fail,
    );
    const states: boolean[] = [];
    for (const bytes of [
      engineLimits.diskWatermarkBytes,
      engineLimits.diskWatermarkBytes - 1,
      0,
      engineLimits.diskWatermarkBytes,
    ]) {
      freeBytes = bytes;
      await vi.advanceTimersByTimeAsync(engineLimits.diskCheckIntervalMs);
      states.push(frozen);
    }
    expect(states).toEqual([false, true, true, false]);
    expect(fail).not.toHaveBeenCalled();
  });

  it("tells of a disk that cannot be asked", async () => {
    const fail = vi.fn();
    const ask = async () => {
      throw new Error("no disk");
    };
    using _ = new DiskWatermark(ask, () => [new Freezer({ freeze: async () => {}, thaw: async () => {} })], fail);
    await vi.advanceTimersByTimeAsync(engineLimits.diskCheckIntervalMs);
    expect(fail).toHaveBeenCalledOnce();
  });
});
