import { statfs } from "node:fs/promises";
import type { CreatedSandbox, EngineName } from "../../packages/server/src/core/engine.ts";
import { layerLimits, makeImage, openPuppets, tell } from "../layers.ts";
import { single } from "../line.ts";
import { meminfo } from "../memory.ts";
import { engines, MiB, type Workbench } from "../workbench.ts";

const imageBytes = 500 * MiB;
const count: Record<EngineName, { full: number; quick: number }> = {
  container: { full: 50, quick: 10 },
  gvisor: { full: 50, quick: 5 },
};

const readAll = `
total = 0
for name in os.listdir("/usr/filler"):
    with open("/usr/filler/" + name, "rb") as file:
        while part := file.read(1 << 20): total += len(part)
---
total`;

/** Many sandboxes of one image that all read the whole of it: its pages and its place on the disk are there once. */
export async function imageShare(bench: Workbench): Promise<void> {
  for (const name of engines) await shareOf(bench, name);
}

async function shareOf(bench: Workbench, name: EngineName): Promise<void> {
  const many = count[name][bench.options.quick ? "quick" : "full"];
  await using engine = await openPuppets(bench, name);
  const image = await makeImage(engine, imageBytes);
  const limits = { ...layerLimits, storageBytes: 16 * MiB };
  const used = async () => {
    const [{ bfree, bsize }, memory] = [await statfs(bench.home), await meminfo()];
    return {
      disk: -bfree * bsize,
      cached: (memory.Cached ?? 0) + (memory.Buffers ?? 0),
      available: -(memory.MemAvailable ?? 0),
    };
  };
  const before = await used();
  const sandboxes: CreatedSandbox[] = [];
  for (let at = 0; at < many; at++) {
    const made = await engine.create({ limits, root: image.id });
    sandboxes.push(made);
    const read = await tell(made, readAll);
    if (read !== imageBytes) throw new Error(`${String(read)} bytes of the image`);
  }
  const after = await used();
  const grown = (kind: "disk" | "cached" | "available") => (after[kind] - before[kind]) / 1e6;
  bench.add({
    engine: name,
    what: `page cache of ${many} sandboxes of one 500 MB image, all of it read by each`,
    unit: "MB",
    ours: single(grown("cached")),
    target: { of: "value", atMost: 2 * (imageBytes / 1e6) },
    notes: [
      `${(grown("available") / many).toFixed(1)} MB less available for each, Python included; on the disk ${(grown("disk") / many).toFixed(1)} MB for each`,
      "of the whole machine: what others read meanwhile counts",
    ],
  });
  for (const { id } of sandboxes) await engine.destroy(id);
}
