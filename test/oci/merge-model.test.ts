import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { seed } from "../harness.ts";
import { file, folder, hardLink, imageLayout, link, type MadeEntry, makeTar } from "./made-image.ts";
import { listing, mergeByModel } from "./merge-model.ts";
import { type Listing, readBack } from "./read-back.ts";

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "caisson-oci-"));
});
afterAll(() => rm(parent, { recursive: true }));

const name = fc.constantFrom("a", "b", "c");
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const mark = fc.oneof(
  path.map((at) => file(at.replace(/[^/]+$/, ".wh.$&"))),
  path.map((at) => file(at.replace(/[^/]+$/, ".wh..wh..opq"))),
);
const entry = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(path, fc.string({ maxLength: 3 }), fc.constantFrom(0o644, 0o755))
      .map(([at, text, mode]) => file(at, encodeURIComponent(text.toWellFormed()), mode)),
  },
  { weight: 3, arbitrary: fc.tuple(path, fc.constantFrom(0o700, 0o755)).map(([at, mode]) => folder(at, mode)) },
  { weight: 1, arbitrary: path.map((at) => link(at, "/elsewhere")) },
  { weight: 2, arbitrary: fc.tuple(path, path).map(([at, target]) => hardLink(at, target)) },
);
const layer = fc.tuple(
  fc.array(mark, { maxLength: 3 }),
  fc.uniqueArray(entry, { maxLength: 6, selector: ({ path }) => path }),
);
const layers = fc.array(layer, { minLength: 1, maxLength: 4 });

async function mergeForReal(made: readonly (readonly MadeEntry[])[]): Promise<Listing | undefined> {
  const read = await readBack(parent, imageLayout({ layers: made.map(makeTar), compression: "none" })).catch(
    (error) => {
      expect(error.code).toBe("invalid");
      return undefined;
    },
  );
  if (read === undefined) return undefined;
  const rows = Object.entries(read.tree).map(([at, text]) => {
    const of = text.startsWith("h ") ? text.slice(2) : at;
    return { path: at, text: read.tree[of] ?? "", group: of };
  });
  return listing(rows);
}

const options = {
  seed,
  numRuns: process.env.CAISSON_SOAK === "1" ? 5_000 : 400,
};

it("layers make the tree that a simple model says", () =>
  fc.assert(
    fc.asyncProperty(layers, async (made) => {
      const ordered = made.map(([marks, entries]) => [...marks, ...entries]);
      expect(await mergeForReal(ordered)).toEqual(mergeByModel(ordered));
    }),
    options,
  ));

it("marks that stand after what they are about change nothing of their own layer", () =>
  fc.assert(
    fc.asyncProperty(layers, async (made) => {
      const late = made.map(([marks, entries]) => [...entries, ...marks]);
      const [real, wanted] = [await mergeForReal(late), mergeByModel(late)];
      if (real !== undefined && wanted !== undefined) expect(real).toEqual(wanted);
    }),
    options,
  ));
