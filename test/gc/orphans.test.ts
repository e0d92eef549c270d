import { describe, expect, it } from "vitest";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { makeHome, small, until } from "../fleet/fixture.ts";
import { engines, ordinary } from "../harness.ts";

const caller: Caller = {
  principal: { id: "key", name: "key", namespace: "default", role: "operator" },
  requestId: "request",
};

describe.skipIf(ordinary).each(engines)("layers that a killed daemon left, %s", (engine) => {
  it("[S77] are gone once the next one has started, where no record names them, and no others", async () => {
    await using home = await makeHome();
    const ids = async ({ caisson }: Awaited<ReturnType<typeof home.open>>) =>
      (await caisson.layers()).map(({ id }) => id).sort();
    let named: string;
    {
      await using daemon = await home.open({ engine });
      const { id } = await daemon.templateBuilds.create(caller, {
        name: "kept",
        files: [{ path: "a", data: Buffer.from("a") }],
      });
      await until(() => daemon.templates.get(caller, id).state === "ready");
      named = daemon.templates.get(caller, id).layerId ?? "";
      // As a kill leaves it, between the freezing of a builder and the record of what that was for.
      const builder = await daemon.caisson.createSandbox({ engine, limits: small, keep: true, fleet: true });
      const layer = await builder.freeze({ keep: false });
      expect(await ids(daemon)).toEqual([named, layer.id].sort());
    }
    await using daemon = await home.open({ engine });
    await until(async () => (await ids(daemon)).length === 1);
    expect(await ids(daemon)).toEqual([named]);
    const { record } = await daemon.fleet.create(caller, { template: "kept" });
    await daemon.fleet.destroy(caller, record.id);
    // What is made from now on is not the last daemon's.
    const builder = await daemon.caisson.createSandbox({ engine, limits: small, keep: true, fleet: true });
    const { id } = await builder.freeze({ keep: false });
    expect((await daemon.collection.run(caller)).freed.items).toBe(0);
    expect(await ids(daemon)).toEqual([named, id].sort());
    await daemon.caisson.removeLayer(id);
    await daemon.templateBuilds.delete(caller, "kept");
    expect(daemon.errors).toEqual([]);
  });
});
