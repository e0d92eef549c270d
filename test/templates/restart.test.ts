import { open as openFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sharedContext, toCommand } from "../../packages/server/src/core/command.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { type FleetHome, makeHome, type TestFleet, until } from "../fleet/fixture.ts";
import { engines } from "../harness.ts";

const MiB = 1024 ** 2;
const caller: Caller = {
  principal: { id: "key", name: "key", namespace: "default", role: "operator" },
  requestId: "request",
};
const warmUp = { language: "python", code: "import time; at = time.time_ns()" } as const;

async function made({ templates, templateBuilds }: TestFleet, name: string, code: string = warmUp.code) {
  const { id } = await templateBuilds.create(caller, { name, warmUp: { ...warmUp, code } });
  await until(() => templates.get(caller, id).state !== "building");
  return templates.get(caller, id);
}

async function value({ fleet }: TestFleet, id: string): Promise<unknown> {
  const command = toCommand({ what: { code: "at", language: "python", context: sharedContext } });
  const done = await fleet.run(caller, id, command, {}, (sandbox) => sandbox.runStateful());
  expect(done.state).toBe("kept");
  return done.results[0]?.json;
}

const open = (home: FleetHome, engine: (typeof engines)[number]) =>
  home.open({ engine, limits: { memoryBytes: 128 * MiB, storageBytes: 16 * MiB } });

describe.each(engines)("[IMG-06] a template and the end of its daemon, %s", (engine) => {
  it(`is there for the next one, ${engine === "gvisor" ? "with the memory that its warm-up left" : "and its warm-up is run again"}`, async () => {
    await using home = await makeHome();
    const moments: unknown[] = [];
    for (const isFirst of [true, false]) {
      await using daemon = await open(home, engine);
      if (isFirst) expect((await made(daemon, "kept")).state).toBe("ready");
      const { record } = await daemon.fleet.create(caller, { template: "kept" });
      expect(record.template?.memory).toBe(engine === "gvisor");
      moments.push(await value(daemon, record.id));
      await daemon.fleet.destroy(caller, record.id);
      if (isFirst) continue;
      await daemon.templateBuilds.delete(caller, "kept");
      expect(await daemon.caisson.layers()).toEqual([]);
    }
    expect(moments[0] === moments[1]).toBe(engine === "gvisor");
    expect(await readdir(join(home.home, "engine/checkpoints")).catch(() => [])).toEqual([]);
  });

  it("fails where it was being made, and leaves nothing", async () => {
    await using home = await makeHome();
    {
      await using daemon = await open(home, engine);
      const asked = { name: "half", warmUp: { ...warmUp, code: "import time; time.sleep(1000)" } };
      const { id } = await daemon.templateBuilds.create(caller, asked);
      await until(() => daemon.templates.get(caller, id).step === "warm-up");
    }
    await using daemon = await open(home, engine);
    await daemon.fleet.swept;
    expect(daemon.templates.get(caller, "half")).toMatchObject({ state: "failed", step: "warm-up", layerId: null });
    expect(await daemon.caisson.layers()).toEqual([]);
    expect(await daemon.caisson.keptSandboxes()).toEqual([]);
    await daemon.templateBuilds.delete(caller, "half");
  });
});

describe("[IMG-06] the memory that a template's warm-up left on gvisor", () => {
  it("is made again where what was kept of it cannot be opened", async () => {
    await using home = await makeHome();
    const moments: unknown[] = [];
    for (const isFirst of [true, false]) {
      await using daemon = await open(home, "gvisor");
      if (isFirst) await made(daemon, "damaged");
      const { record } = await daemon.fleet.create(caller, { template: "damaged" });
      expect(record.template).toMatchObject({ memory: true });
      moments.push(await value(daemon, record.id));
      await daemon.fleet.destroy(caller, record.id);
      expect(daemon.errors.map(String).join()).toMatch(isFirst ? /^$/ : /cannot open checkpoint/);
      if (isFirst) await damage(home.home);
      else await daemon.templateBuilds.delete(caller, "damaged");
    }
    expect(moments[0]).not.toBe(moments[1]);
  });
});

/** One byte of the sealed memory. */
async function damage(home: string): Promise<void> {
  const folder = join(home, "engine/checkpoints");
  const [id = "", ...others] = await readdir(folder);
  expect(others).toEqual([]);
  await using file = await openFile(join(folder, id, "memory.sealed"), "r+");
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, 1000);
  await file.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, 1000);
}
