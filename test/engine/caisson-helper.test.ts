import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { helperPath } from "./fixture.ts";

describe("the hash of the helper", () => {
  it.each([0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000, 65_536, 1_000_001])(
    "agrees with Node on %i bytes",
    (size) => {
      const input = randomBytes(size);
      const { stdout } = spawnSync(helperPath, ["sha256"], { input });
      expect(String(stdout).trim()).toBe(createHash("sha256").update(input).digest("hex"));
    },
  );
});

describe("the helper", () => {
  it("leaves when its owner closes the line", () => {
    expect(spawnSync(helperPath, ["serve"], { input: "" }).status).toBe(0);
  });

  it("answers a request that it cannot read with an error", () => {
    const { stdout } = spawnSync(helperPath, ["serve"], { input: Buffer.from([3, 0, 0, 0, 65, 66, 67]) });
    expect(String(stdout)).toMatch(/^0 err EINVAL/);
  });
});
