import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engineLimits } from "../../packages/server/src/engines/limits.ts";
import { ociLimits } from "../../packages/server/src/registries/limits.ts";
import { Staging } from "../../packages/server/src/registries/staging.ts";
import { ordinary } from "../harness.ts";

/** A file system of this size, which takes memory for what is written alone. */
describe.skipIf(ordinary)("[S71] what is staged of an image", () => {
  let folder: string;
  const mounted: string[] = [];
  const disk = async (name: string, bytes: number) => {
    const path = join(folder, name);
    await mkdir(path);
    execFileSync("/usr/bin/mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "caisson-test", path]);
    mounted.push(path);
    return path;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "caisson-oci-"));
  });
  afterAll(async () => {
    for (const path of mounted) execFileSync("/usr/bin/umount", [path]);
    await rm(folder, { recursive: true });
  });

  it("leaves the disk so much that no sandbox has to stand still for it", async () => {
    expect(ociLimits.reserveBytes).toBeGreaterThan(engineLimits.diskWatermarkBytes);
    const small = await disk("small", ociLimits.reserveBytes);
    {
      await using staging = await Staging.open(small);
      await using writer = await staging.create(1024);
      await expect(writer.write(Buffer.alloc(1))).rejects.toMatchObject({
        code: "limit_exceeded",
        details: { errno: "ENOSPC" },
      });
    }
    expect(await readdir(small)).toEqual([]);
    await using staging = await Staging.open(await disk("large", ociLimits.reserveBytes + 2 * ociLimits.checkBytes));
    await using writer = await staging.create(1024);
    await writer.write(Buffer.alloc(1));
    expect(writer.finish().bytes).toBe(1);
  });
});
