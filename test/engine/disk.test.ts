import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findLeaks, processesOf } from "../leaks.ts";
import { engineNames, limits, makeHome, openEngine, Puppet } from "./fixture.ts";

const TiB = 1024 ** 4;
const MiB = 1024 ** 2;

/** How the workspace is mounted, as the kernel tells it of the process that has it. */
function workspaceMount(id: string): string {
  const lines = processesOf(id).flatMap((pid) => readFileSync(`/proc/${pid}/mountinfo`, "utf8").split("\n"));
  return lines.find((line) => line.split(" ")[4]?.endsWith("/workspace")) ?? "";
}

describe.each(engineNames)("the workspace of engine %s", (name) => {
  it("is an image mounted so that a damaged one cannot panic the host (hazard 9)", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const { id } = await engine.create({ limits });
    const mount = workspaceMount(id);
    expect(mount).toContain("errors=remount-ro");
    for (const option of ["nosuid", "nodev", "discard"]) expect(mount).toContain(option);
    expect(mount).toContain("/dev/loop");
  });

  it("is full at its limit, while the host is not", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    using puppet = new Puppet(await engine.create({ limits: { ...limits, storageBytes: 32 * MiB } }));
    await expect(puppet.run(`open("big", "wb").write(bytes(40 << 20))`)).rejects.toThrow(/No space left/);
    expect(await puppet.run(`os.path.getsize("big") > 16 << 20`)).toBe(true);
  });

  it("[SBX-10] is refused, with the numbers, when the disk could not hold what is promised (hazard 8)", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const create = engine.create({ limits: { ...limits, storageBytes: 10 * TiB } });
    await expect(create).rejects.toMatchObject({
      code: "limit_exceeded",
      hint: expect.stringMatching(/storage/),
      details: { sizeBytes: 10 * TiB, freeBytes: expect.any(Number), claimedBytes: expect.any(Number) },
    });
    expect(findLeaks(home.home)).toEqual([]);
  });

  it("is refused to one of two that race for more than there is", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const { bavail, bsize } = await import("node:fs/promises").then(({ statfs }) => statfs(home.home));
    const most = Math.floor(((bavail * bsize) / 4) * 3);
    const ask = () => engine.create({ limits: { ...limits, storageBytes: most } });
    const results = await Promise.allSettled([ask(), ask()]);
    expect(results.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(1);
  });
});
