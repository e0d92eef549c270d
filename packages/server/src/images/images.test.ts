import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { buildLimits, firstUseLimits } from "../core/image-limits.ts";
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
    expect(() => images.choose(alias)).toThrow("unknown image");
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
    ...{ folder, catalogue: [{ spec: { ...spec, debian: [] }, text: "" }] },
    records: { list: async () => [], insert: nothing, update: nothing, delete: nothing },
    journal: { record: nothing, recordAll: nothing, tell: nothing },
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

it("[S97] images that sandboxes ask for leave room to other namespaces and to administrators", async () => {
  const folder = await mkdtemp(join(tmpdir(), "caisson-images-"));
  try {
    await using images = await openWaiting(folder);
    const agentOf = (namespace: string): Caller => ({
      principal: { ...admin.principal, namespace, role: "agent" },
      requestId: "r",
    });
    const ask = (caller: Caller, count: number) =>
      Promise.allSettled(
        Array.from({ length: count }, (_, at) =>
          images.importSpec(
            caller,
            `name: ${caller.principal.role}-${caller.principal.namespace}-${at}\ndebian: [jq]\n`,
          ),
        ),
      ).then((all) => all.filter(({ status }) => status === "fulfilled").length);
    const { imagesOfNamespace, keptForAdministrators } = firstUseLimits;
    expect(await ask(agentOf("alice"), buildLimits.images)).toBe(imagesOfNamespace);
    expect(() => images.checkRoom(agentOf("alice"))).toThrow("the namespace has had");
    expect(await ask(agentOf("bob"), 1)).toBe(1);
    for (const other of ["carol", "dave", "erin"]) await ask(agentOf(other), imagesOfNamespace);
    expect(images.list()).toHaveLength(buildLimits.images - keptForAdministrators);
    expect(await ask(admin, buildLimits.images)).toBe(keptForAdministrators);
    for (const { id } of images.list()) await images.delete(admin, id);
    expect(() => images.checkRoom(agentOf("alice"))).not.toThrow();
  } finally {
    await rm(folder, { recursive: true });
  }
});
