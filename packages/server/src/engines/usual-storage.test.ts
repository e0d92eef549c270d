import { describe, expect, it } from "vitest";
import { requestLimits } from "../core/limits.ts";
import { engineLimits } from "./limits.ts";
import { usualStorageBytes } from "./usual-storage.ts";

const GiB = 1024 ** 3;

describe("the storage of a sandbox that names none", () => {
  it("[S96] [SBX-13] is 5 GB on a large disk, and less on a small one", () => {
    expect(usualStorageBytes(500 * GiB)).toBe(requestLimits.storageBytes.default);
    expect(usualStorageBytes(72 * GiB)).toBe(2 * GiB);
    expect(usualStorageBytes(8 * GiB)).toBe(0.5 * GiB);
    expect(usualStorageBytes(0)).toBe(0.5 * GiB);
  });

  it.each([20, 40, 70, 130, 200])("[S96] lets 32 empty sandboxes fit a disk with %i GB free", (free) => {
    const promisable = free * GiB - engineLimits.diskReserveBytes;
    expect(32 * usualStorageBytes(free * GiB)).toBeLessThanOrEqual(promisable);
  });
});
