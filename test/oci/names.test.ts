import { expect, it } from "vitest";
import { noApt } from "../../packages/server/src/core/apt.ts";
import { readSpec } from "../../packages/server/src/images/read-spec.ts";
import { makeHome } from "../fleet/fixture.ts";
import { ordinary } from "../harness.ts";
import { admin, logOf, openImages } from "../images/fixture.ts";
import { dockerArchive, file, makeTar } from "./made-image.ts";
import { inPieces } from "./read-back.ts";

it.skipIf(ordinary)(
  "an archive does not call itself what is made here; whoever loads it may",
  async () => {
    await using home = await makeHome();
    const text = "name: ours\naliases: [registry.example/ours:1]\n";
    const catalogue = [{ spec: await readSpec(text), text }];
    await using service = await openImages(home.home, { apt: noApt, dns: "127.0.0.1:9" }, { catalogue });
    const load = (tag: string, name?: string) =>
      service.oci.load(admin, inPieces(dockerArchive({ layers: [makeTar([file("a", "b")])] }, tag)), {
        ...(name === undefined ? {} : { name }),
      });
    for (const tag of ["ours", "OURS", "registry.example/ours:1"])
      await expect(load(tag)).rejects.toMatchObject({ code: "conflict", hint: "set another name" });
    for (const tag of ["host", "../../etc", "a b", "ours\n", ""])
      await expect(load(tag)).rejects.toThrow("is not a valid image name");
    expect(service.images.list()).toEqual([]);
    const { record } = await load("ours", "mine");
    expect((await logOf(service, record.id)).at(-1)).toMatchObject({ state: "ready" });
    expect(service.images.get("mine").source).toBe("oci");
    await service.imageBuilds.delete(admin, record.id);
  },
  120_000,
);
