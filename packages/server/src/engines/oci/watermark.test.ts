import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DiskNews } from "../../core/engine.ts";
import { engineLimits } from "../limits.ts";
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
    const told: { news: DiskNews; frozen: boolean }[] = [];
    const tellDisk = async (news: DiskNews) => void told.push({ news, frozen });
    const writer = { freezer, tellDisk };
    using _ = new DiskWatermark(
      async () => freeBytes,
      () => [writer],
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
    expect(told, "its owner is told before it stands still, and before it goes on").toEqual([
      { news: "low", frozen: false },
      { news: "standstill", frozen: true },
      { news: "room", frozen: true },
    ]);
    expect(fail).not.toHaveBeenCalled();
  });

  it("freezes a sandbox whose owner cannot be told", async () => {
    let frozen = false;
    const freeze = async () => {
      frozen = true;
    };
    const writer = {
      freezer: new Freezer({ freeze, thaw: async () => {} }),
      tellDisk: async () => {
        throw new Error("no owner");
      },
    };
    const fail = vi.fn();
    using _ = new DiskWatermark(
      async () => 0,
      () => [writer],
      fail,
    );
    await vi.advanceTimersByTimeAsync(engineLimits.diskCheckIntervalMs);
    expect({ frozen, failures: fail.mock.calls.length }).toEqual({ frozen: true, failures: 2 });
  });

  it("tells of a disk that cannot be asked", async () => {
    const fail = vi.fn();
    const ask = async () => {
      throw new Error("no disk");
    };
    const freezer = new Freezer({ freeze: async () => {}, thaw: async () => {} });
    using _ = new DiskWatermark(ask, () => [{ freezer, tellDisk: async () => {} }], fail);
    await vi.advanceTimersByTimeAsync(engineLimits.diskCheckIntervalMs);
    expect(fail).toHaveBeenCalledOnce();
  });
});
