import { describe, expect, it } from "vitest";
import { AppError } from "./errors.ts";
import { requestLimits } from "./limits.ts";
import { resolveSandboxLimits } from "./request.ts";
import { checkRange, parseSize } from "./size.ts";

describe("sizes", () => {
  it.each([
    ["512", 512 * 1024 ** 2],
    ["512M", 512 * 1024 ** 2],
    ["2g", 2 * 1024 ** 3],
    ["64k", 64 * 1024],
    ["1.5G", 1.5 * 1024 ** 3],
    ["1GB", 1024 ** 3],
  ])("[SBX-13] reads %s: a plain number is MB", (text, bytes) => {
    expect(parseSize(text, "memory")).toBe(bytes);
  });

  it.each(["", "x", "-1", "1T", "1 2", "0x10"])("refuses '%s' with a hint", (text) => {
    expect(() => parseSize(text, "memory")).toThrow(AppError);
  });
});

describe("limits", () => {
  it("hold for what is no number too", () => {
    expect(() => checkRange(Number.NaN, requestLimits.timeoutMs, "timeout", String)).toThrow("not a number");
  });

  it("[SBX-13] have the promised defaults, minima and caps", () => {
    expect(resolveSandboxLimits({})).toEqual({
      memoryBytes: 512 * 1024 ** 2,
      cpus: 1,
      cpuShares: 1024,
      processes: 64,
      storageBytes: 5 * 1024 ** 3,
    });
    expect(requestLimits.memoryBytes).toMatchObject({ min: 64 * 1024 ** 2, max: 8 * 1024 ** 3 });
    expect(requestLimits.timeoutMs).toMatchObject({ default: 60_000, max: 3_600_000 });
    expect(requestLimits.cpuTimeMs).toMatchObject({ default: 60_000, max: 3_600_000 });
    expect(requestLimits.processes.max).toBe(512);
    expect(requestLimits.outputBytes.default).toBe(1_000_000);
    expect(requestLimits.storageBytes.max).toBe(100 * 1024 ** 3);
  });

  it.each([
    [{ memoryBytes: 9 * 1024 ** 3 }, "exceeds the maximum of 8 GB"],
    [{ memoryBytes: 1024 ** 2 }, "below the minimum of 64 MB"],
    [{ processes: 513 }, "exceeds the maximum of 512"],
    [{ storageBytes: 101 * 1024 ** 3 }, "exceeds the maximum of 100 GB"],
    [{ cpuShares: 100 }, "below the minimum of 512"],
  ])("[SBX-13] outside its range %j is invalid and names the cap", (asked, message) => {
    expect(() => resolveSandboxLimits(asked)).toThrow(message);
    expect(() => resolveSandboxLimits(asked)).toThrow(expect.objectContaining({ code: "invalid" }));
  });
});
