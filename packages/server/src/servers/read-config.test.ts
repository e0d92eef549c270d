import { describe, expect, it } from "vitest";
import { serverLimits } from "./limits.ts";
import { readConfig } from "./read-config.ts";
import { nameOf } from "./server-name.ts";

const GiB = 1024 ** 3;
const MiB = 1024 ** 2;

describe("the settings of a server", () => {
  it("have the defaults and ranges of servers, and keep what is not changed", () => {
    const config = readConfig({ env: { A: "b" }, limits: { memoryBytes: 256 * MiB } });
    expect(config).toEqual({
      ...{ command: null, port: 8_000, image: "mcp-runtime", env: { A: "b" }, secrets: [], network: {} },
      limits: { memoryBytes: 256 * MiB, cpus: 1, cpuShares: 1_024, storageBytes: 5 * GiB, processes: 256 },
      idleTimeoutMs: 300_000,
    });
    const changed = readConfig({ limits: { processes: 64 } }, config);
    expect(changed.limits).toEqual({ ...config.limits, processes: 64 });
    expect(changed.env).toEqual({ A: "b" });
  });

  it.each([
    [{ limits: { memoryBytes: 255 * MiB } }, "memory: 255 MB is below the minimum of 256 MB"],
    [{ limits: { memoryBytes: 9 * GiB } }, "memory: 9 GB exceeds the maximum of 8 GB"],
    [{ limits: { cpuShares: 511 } }, "cpu shares: 511 is below the minimum of 512"],
    [{ limits: { cpuShares: 4_097 } }, "cpu shares: 4097 exceeds the maximum of 4096"],
    [{ limits: { storageBytes: 4 * GiB } }, "storage: 4 GB is below the minimum of 5 GB"],
    [{ limits: { storageBytes: 101 * GiB } }, "storage: 101 GB exceeds the maximum of 100 GB"],
    [{ limits: { processes: 63 } }, "processes: 63 is below the minimum of 64"],
    [{ limits: { processes: 513 } }, "processes: 513 exceeds the maximum of 512"],
    [{ port: 0 }, "port: 0 is below the minimum of 1"],
    [{ idleTimeoutMs: 999 }, "idle timeout: 0.999 s is below the minimum of 1 s"],
    [{ command: [] }, "the command is empty"],
    [{ command: ["a\0b"] }, "the command holds a NUL"],
    [{ env: { "A=B": "" } }, "environment: 'A=B' is not a valid name"],
    [{ env: { A: "x".repeat(serverLimits.envBytes) } }, `environment: more than ${serverLimits.envBytes} bytes`],
    [{ secrets: ["A", "A"] }, "a secret is named twice"],
    [{ secrets: ["../A"] }, 'invalid name of a secret: "../A"'],
    [{ network: { allow: Array(11).fill("a.example.com") } }, "too many domains: 11 (limit: 10)"],
  ])("%j are refused", (changes, message) => {
    expect(() => readConfig(changes)).toThrow(message);
  });
});

it("a server is named by its deployer, or after its package", () => {
  const config = {};
  expect(nameOf({ name: "weather", source: { kind: "archive" }, config })).toBe("weather");
  const npm = { kind: "npm", package: "@scope/Server-Time", version: "1" } as const;
  expect(nameOf({ source: npm, config })).toBe("server-time");
  expect(() => nameOf({ source: { kind: "archive" }, config })).toThrow("the server has no name");
  for (const name of ["", "A", "-a", "a/b", "a".repeat(64)])
    expect(() => nameOf({ name, source: { kind: "archive" }, config })).toThrow("invalid name");
});
