import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import { ImageBuilds, type ImageBuildsParts } from "./image-builds.ts";
import { Images } from "./images.ts";
import { buildLimits, firstUseLimits } from "./limits.ts";

const spec = { name: "tools", description: "", aliases: [], pip: [], npm: [], files: {}, env: {}, run: [] };

const admin: Caller = { principal: { id: "k", name: "k", namespace: "default", role: "admin" }, requestId: "r" };

/** Images whose builds wait for ever. */
async function openWaiting(folder: string): Promise<{ images: Images; builds: ImageBuilds }> {
  const nothing = async () => undefined;
  const journal = { record: nothing, recordAll: nothing, tell: nothing } as unknown as Recorder;
  const records = { list: async () => [], insert: nothing, update: nothing, delete: nothing };
  const images = await Images.open({ journal, records, catalogue: [{ spec: { ...spec, debian: [] }, text: "" }] });
  const builds = await ImageBuilds.open({
    ...{ folder, images, journal },
    clock: { wallMs: () => 0 },
    onError: nothing,
    fleet: {
      build: (_: Caller, signal: AbortSignal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    },
  } as unknown as ImageBuildsParts);
  return { images, builds };
}

it("[IMG-02] an image that is imported twice at once is made once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "caisson-images-"));
  try {
    const { images, builds } = await openWaiting(folder);
    await using _builds = builds;
    const both = await Promise.all([
      builds.importFromCatalogue(admin, "tools"),
      builds.importFromCatalogue(admin, "tools"),
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
    const { images, builds } = await openWaiting(folder);
    await using _builds = builds;
    const agentOf = (namespace: string): Caller => ({
      principal: { ...admin.principal, namespace, role: "agent" },
      requestId: "r",
    });
    const ask = (caller: Caller, count: number) =>
      Promise.allSettled(
        Array.from({ length: count }, (_, at) =>
          builds.importSpec(
            caller,
            `name: ${caller.principal.role}-${caller.principal.namespace}-${at}\ndebian: [jq]\n`,
          ),
        ),
      ).then((all) => all.filter(({ status }) => status === "fulfilled").length);
    const { imagesOfNamespace, keptForAdministrators } = firstUseLimits;
    expect(await ask(agentOf("alice"), buildLimits.images)).toBe(imagesOfNamespace);
    expect(() => builds.checkRoom(agentOf("alice"))).toThrow("the namespace has had");
    expect(await ask(agentOf("bob"), 1)).toBe(1);
    for (const other of ["carol", "dave", "erin"]) await ask(agentOf(other), imagesOfNamespace);
    expect(images.list()).toHaveLength(buildLimits.images - keptForAdministrators);
    expect(await ask(admin, buildLimits.images)).toBe(keptForAdministrators);
    for (const { id } of images.list()) await builds.delete(admin, id);
    expect(() => builds.checkRoom(agentOf("alice"))).not.toThrow();
  } finally {
    await rm(folder, { recursive: true });
  }
});
