import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type ImageRecord, plainConfig } from "../core/image-record.ts";
import type { Caller } from "../core/principal.ts";
import { Images, type ImagesParts } from "./images.ts";

const alias = "registry.example/python:3.12";
const spec = { name: "tools", description: "", aliases: [alias], pip: [], npm: [], files: {}, env: {}, run: [] };
const old: ImageRecord = {
  ...{ id: "old", name: "tools", aliases: [alias], description: "", source: "catalogue", digest: "sha256:of-before" },
  ...{ layerId: "layer", config: plainConfig, bytes: 1, state: "ready", step: null, error: null },
  ...{ createdAtMs: 0, createdBy: "k" },
};

it("[IMG-02] an image that was made of an older catalogue keeps its name, and loses the names that promise more", async () => {
  const folder = await mkdtemp(join(tmpdir(), "caisson-images-"));
  const openWith = (record: ImageRecord) =>
    Images.open({
      ...{ folder, catalogue: [{ spec: { ...spec, debian: ["python3>=3.12"] }, text: "" }] },
      records: { list: async () => [record] },
    } as unknown as ImagesParts);
  try {
    const images = await openWith(old);
    expect(images.choose("tools")).toEqual({ name: "tools", layerId: "layer" });
    expect(() => images.choose(alias)).toThrow("there is no image");
    const own = await openWith({ ...old, source: "spec" });
    expect(own.choose(alias)).toEqual({ name: "tools", layerId: "layer" });
  } finally {
    await rm(folder, { recursive: true });
  }
});

const admin: Caller = { principal: { id: "k", name: "k", namespace: "default", role: "admin" }, requestId: "r" };

/** Images whose builds wait for ever. */
function openWaiting(folder: string): Promise<Images> {
  const nothing = async () => undefined;
  return Images.open({
    ...{ folder, catalogue: [{ spec: { ...spec, debian: [] }, text: "" }], feed: { publish: () => undefined } },
    records: { list: async () => [], insert: nothing, update: nothing, delete: nothing },
    audit: { record: nothing },
    clock: { wallMs: () => 0 },
    onError: nothing,
    queue: (_: Caller, signal: AbortSignal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  } as unknown as ImagesParts);
}

it("[IMG-02] an image that is imported twice at once is made once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "caisson-images-"));
  try {
    await using images = await openWaiting(folder);
    const both = await Promise.all([
      images.importFromCatalogue(admin, "tools"),
      images.importFromCatalogue(admin, "tools"),
    ]);
    expect(both.map(({ isNew }) => isNew)).toEqual([true, false]);
    expect(both[1]?.record.id).toBe(both[0]?.record.id);
    expect(images.list()).toHaveLength(1);
  } finally {
    await rm(folder, { recursive: true });
  }
});
