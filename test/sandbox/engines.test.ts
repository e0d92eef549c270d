import { mkdtemp, rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CaissonOptions, openCaisson } from "../../packages/server/src/app.ts";
import { root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

const limits = { storageBytes: 16 * 1024 ** 2 };
/** A program that ends well and starts nothing: there, and no runtime. */
const hollow = "/bin/true";

describe("the engine that auto takes", () => {
  let home: string;
  beforeAll(async () => {
    home = await mkdtemp("/var/tmp/caisson-test-");
  });
  afterAll(async () => {
    expect(findLeaks(home)).toEqual([]);
    await rm(home, { recursive: true });
  });

  /** Which engine a sandbox of `auto` runs on, and that it runs. */
  async function chosen(runtimePaths: NonNullable<CaissonOptions["runtimePaths"]> = {}): Promise<string> {
    await using caisson = openCaisson({ home, root, runtimePaths });
    await using sandbox = await caisson.createSandbox({ limits });
    expect((await sandbox.exec({ command: "cat /proc/1/comm", trackFiles: false })).stdout).toBe("guest\n");
    return sandbox.engine;
  }

  it("[SBX-02] is gVisor, the strongest, where it works", async () => {
    expect(await chosen()).toBe("gvisor");
  });

  it("[SBX-02] is the container where runsc is there and starts no sandbox", async () => {
    expect(await chosen({ gvisor: hollow })).toBe("container");
    expect(await chosen({ gvisor: "/nowhere/runsc" })).toBe("container");
  });

  it("[SBX-02] is none where no runtime starts a sandbox, and each is named with its reason", async () => {
    await expect(chosen({ gvisor: hollow, container: hollow })).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringMatching(/gvisor: .*; container: /),
    });
  });
});
