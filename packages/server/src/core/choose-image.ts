import { AppError } from "./errors.ts";
import type { ChosenImage, ImageRecord } from "./image-record.ts";
import type { CatalogueEntry } from "./image-spec.ts";

const host: ChosenImage = { name: "host", layerId: null };

/** Returns the image that a name stands for: the newest ready one. */
export function chooseImage(
  records: readonly ImageRecord[],
  asked: string,
  catalogue: readonly CatalogueEntry[],
): ChosenImage {
  if (asked === host.name) return host;
  const ready = records.filter(({ state }) => state === "ready");
  const found = match(ready, asked);
  if (found?.layerId != null) return { name: found.name, layerId: found.layerId };
  const building = match(records, asked)?.state === "building";
  const entry = catalogue.find(({ spec }) => spec.name === asked || spec.aliases.includes(asked));
  const images = [host.name, ...new Set(ready.map(({ name }) => name))];
  if (building)
    throw new AppError("conflict", `the image ${asked} is being built`, {
      hint: `caisson image log ${asked} follows the build`,
      details: { images },
    });
  throw new AppError("not_found", `unknown image ${JSON.stringify(asked).slice(0, 80)}`, {
    hint: entry === undefined ? `images: ${images.join(", ")}` : `caisson image import ${entry.spec.name}`,
    details: { images, ...(entry === undefined ? {} : { catalogue: entry.spec.name }) },
  });
}

/** The image that a name means now. */
export function imageState(records: readonly ImageRecord[], asked: string): "ready" | "building" | "missing" {
  const ready = records.filter(({ state, layerId }) => state === "ready" && layerId !== null);
  if (asked === host.name || match(ready, asked) !== undefined) return "ready";
  return match(records, asked)?.state === "building" ? "building" : "missing";
}

/** By id, or by name: what is ready first, then what is under way, then what failed. */
export function findImage(
  records: readonly ImageRecord[],
  asked: string,
  catalogue: readonly CatalogueEntry[],
): ImageRecord {
  for (const state of ["ready", "building", "failed"] as const) {
    const found = match(
      records.filter((record) => record.state === state || record.id === asked),
      asked,
    );
    if (found !== undefined) return found;
  }
  chooseImage(records, asked, catalogue); // says what there is
  throw new AppError("conflict", "the image host is the machine's own root", { hint: "it cannot be built or deleted" });
}

/** Those that no name leads to any more, because there are newer ones. */
export function supersededImages(records: readonly ImageRecord[]): ImageRecord[] {
  const ready = records.filter(({ state }) => state === "ready");
  return ready.filter((record) => [record.name, ...record.aliases].every((name) => match(ready, name) !== record));
}

function match(records: readonly ImageRecord[], asked: string): ImageRecord | undefined {
  return (
    records.find(({ id }) => id === asked) ??
    records.find(({ name }) => name === asked) ??
    records.find(({ aliases }) => aliases.includes(asked))
  );
}
