import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { engines, root, soak } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

const GiB = 1024 ** 3;
const mostBytes = 150 * 1024 ** 2;

async function digest(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

describe.each(engines)("memory of the owner (%s)", (engine) => {
  const lineBytes = soak || engine === "container" ? GiB : GiB / 8;
  const fileBytes = soak ? 5 * GiB : GiB / 8;

  it("[SBX-12] [FIL-01] stays under 150 MB while a huge line comes out and a huge file goes up and down", async () => {
    const folder = await mkdtemp("/var/tmp/caisson-memory-");
    const home = join(folder, "home");
    const file = join(folder, "file");
    await writeFile(file, "the beginning");
    await truncate(file, fileBytes);
    // Bundled, as users run it: Node's own loader of TypeScript takes some forty megabytes.
    const owner = join(folder, "owner.mjs");
    const entryPoints = [join(import.meta.dirname, "memory-owner.ts")];
    await build({ entryPoints, outfile: owner, bundle: true, platform: "node", format: "esm", target: "node24" });
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [owner, root, home, engine, String(lineBytes), file, String(fileBytes)],
      { cwd: root },
    );
    const told = JSON.parse(stdout);
    expect(told).toMatchObject({ seen: lineBytes, exit: 0, captured: 1_000_000, truncated: true });
    expect(told.maxRssBytes).toBeLessThan(mostBytes);
    expect(await digest(`${file}.back`)).toBe(await digest(file));
    expect(findLeaks(home)).toEqual([]);
    await rm(folder, { recursive: true });
  }, 1_800_000);
});
