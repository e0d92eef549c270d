import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { OomCount } from "./oom-count.ts";

it("counts what the kernel counts, and says where it cannot see", async () => {
  const folder = await mkdtemp("/var/tmp/caisson-oom-");
  const path = join(folder, "memory.events");
  expect(new OomCount(undefined).read()).toBeUndefined();
  using count = new OomCount(path);
  expect(count.read()).toBeUndefined();
  await writeFile(path, "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\n");
  expect(count.read()).toBe(1);
  await writeFile(path, "low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\n");
  expect(count.read()).toBe(3);
  await rm(folder, { recursive: true });
});
