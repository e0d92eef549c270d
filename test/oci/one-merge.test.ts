import { mkdtemp, readdir, rm } from "node:fs/promises";
import { arch, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Imported, ImportProgress, TreeImport } from "../../packages/server/src/core/import-tree.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { OciImages } from "../../packages/server/src/registries/oci-images.ts";
import { platformOf } from "../../packages/server/src/registries/platform.ts";
import { file, imageLayout, makeTar } from "./made-image.ts";
import { inPieces } from "./read-back.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "caisson-oci-"));
});
afterAll(() => rm(folder, { recursive: true }));

const caller: Caller = { principal: { id: "x", name: "x", namespace: "default", role: "admin" }, requestId: "" };
const nobody = async (): Promise<never> => {
  throw new Error("nobody is asked");
};

/** Whoever makes images of trees: it opens each when it likes, and says when it is done with it. */
async function opened(names: readonly string[]) {
  const trees = new Map<string, TreeImport>();
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const images = await OciImages.open({
    folder,
    images: {
      importTree: async (_: Caller, tree: TreeImport) => {
        trees.set(tree.name, tree);
        ends.set(tree.name, Promise.withResolvers());
        return { record: { id: tree.name }, isNew: true } as Imported;
      },
      settled: async (id) => ends.get(id)?.promise,
    },
    way: { schemeOf: () => "https", get: nobody },
    lend: nobody,
    platform: platformOf(arch()),
    onError: (error) => {
      throw error;
    },
  });
  for (const name of names)
    await images.load(caller, inPieces(imageLayout({ layers: [makeTar([file("a", name)])] })), { name });
  const steps: string[] = [];
  const open = (name: string, signal = new AbortController().signal) => {
    const begin = async (step: string) => void steps.push(`${name} ${step}`);
    const progress: ImportProgress = { log: { write: async () => undefined }, signal, begin };
    return Promise.resolve(trees.get(name)?.open(progress));
  };
  const isOpen = async (tree: Promise<unknown>) =>
    Promise.race([tree.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);
  const end = (name: string) => ends.get(name)?.resolve();
  return { open, isOpen, end, steps };
}

it("[S71] of images that are imported at once the names of one are held at a time, until its tree was read or its import is over", async () => {
  const { open, isOpen, end, steps } = await opened(["one", "two", "three", "four"]);
  const one = await open("one");
  const gone = new AbortController();
  const two = open("two", gone.signal);
  const three = open("three");
  const four = open("four");
  await expect.poll(() => steps, { timeout: 30_000 }).toHaveLength(4);
  expect(await isOpen(two)).toBe(false);
  gone.abort(new Error("the image was deleted")); // one that waits keeps nobody waiting when it is given up
  await expect(two).rejects.toThrow("the image was deleted");
  end("two");
  expect(await isOpen(three)).toBe(false);
  let bytes = 0;
  for await (const piece of one ?? []) bytes += piece.length;
  expect(bytes).toBeGreaterThan(0);
  await three;
  expect(await isOpen(four)).toBe(false);
  end("three"); // its tree was never asked for
  for await (const piece of (await four) ?? []) bytes += piece.length;
  for (const name of ["one", "four"]) end(name);
  await expect.poll(() => readdir(folder), { timeout: 30_000 }).toEqual([]);
});
