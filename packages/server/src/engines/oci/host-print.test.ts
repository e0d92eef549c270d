import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hostPrint } from "./host-print.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "print-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it("stands for the runtime, the guest and the machine's own root, where that is the sandbox's", async () => {
  const [runtimePath, guestPath] = [join(folder, "runtime"), join(folder, "guest")];
  await Promise.all([writeFile(runtimePath, "one"), writeFile(guestPath, "one")]);
  const own = { root: null, base: null, origin: null };
  const layer = { ...own, root: "aaaaaaaaaaaaaaaa" };
  const prints = async () => [
    await hostPrint({ runtimePath, guestPath }, own),
    await hostPrint({ runtimePath, guestPath }, layer),
  ];
  const first = await prints();
  expect(await prints()).toEqual(first);
  expect(first[0]).not.toBe(first[1]);
  for (const path of [runtimePath, guestPath]) {
    const before = await prints();
    await writeFile(path, `another ${path}`);
    const after = await prints();
    expect(after[0]).not.toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
  }
});
