import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeHome } from "../fleet/fixture.ts";
import { ordinary } from "../harness.ts";
import { admin, logOf, openImages, openRegistries, type TestImages, type TestRegistries } from "../images/fixture.ts";

async function made(service: TestImages, text: string): Promise<string> {
  const { record } = await service.imageBuilds.importSpec(admin, text);
  expect((await logOf(service, record.id)).at(-1)).toMatchObject({ state: "ready" });
  return record.id;
}

const versions = ["one", "two", "three"].map(
  (text) => `name: tools\ndebian: [tool]\nfiles: { /etc/version: ${text} }\n`,
);

describe.skipIf(ordinary)("a collection of images", () => {
  let registries: TestRegistries;
  beforeAll(async () => {
    registries = await openRegistries();
  });
  afterAll(() => registries?.[Symbol.asyncDispose]());

  it("[S77] takes those that newer ones stand before and that nothing is made of, and tells of all before it does", async () => {
    await using home = await makeHome();
    await using service = await openImages(home.home, registries);
    const { images, fleet, collection } = service;
    const ids: string[] = [];
    for (const text of versions) ids.push(await made(service, text));
    const [first = "", second = "", third = ""] = ids;
    const { record: box } = await fleet.create(admin, { image: second });
    const kindOf = async (dryRun: boolean) => {
      const { kinds } = await collection.run(admin, { dryRun });
      return kinds.find(({ kind }) => kind === "images");
    };
    const dry = await kindOf(true);
    const size = (id: string) => images.get(id).bytes;
    expect(dry?.freed).toEqual({ items: 1, bytes: size(first) });
    expect(dry?.bytes).toBe(ids.map(size).reduce((sum, bytes) => sum + bytes));
    const goes = Object.fromEntries(dry?.things.map(({ id, goes }) => [id, goes]) ?? []);
    expect(goes).toEqual({ [first]: true, [second]: false, [third]: false });
    expect(images.list().length).toBe(3);
    expect((await kindOf(false))?.freed).toEqual(dry?.freed);
    expect(images.list().map(({ id }) => id)).toEqual([third, second]);
    const [row] = await service.store.audit.search({ type: "image.deleted" });
    expect(row).toMatchObject({ actor: "system", requestId: null, detail: { image_id: first } });
    await fleet.destroy(admin, box.id);
    expect((await kindOf(false))?.freed.items).toBe(1);
    expect(images.list().map(({ id }) => id)).toEqual([third]);
    expect((await service.caisson.layers()).map(({ id }) => id)).toEqual(images.layerIds());
    await service.imageBuilds.delete(admin, third);
    expect(await service.caisson.layers()).toEqual([]);
    expect(service.errors).toEqual([]);
  }, 300_000);
});
