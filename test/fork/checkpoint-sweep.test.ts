import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { callerOf, makeHome } from "../fleet/fixture.ts";

const MiB = 1024 ** 2;
const caller = callerOf("default");

it("[LIF-07] what a killed daemon left of a checkpoint is gone with the next one's start: bytes, folders and keys", async () => {
  await using home = await makeHome();
  const open = () => home.open({ engine: "gvisor", limits: { memoryBytes: 128 * MiB, storageBytes: 16 * MiB } });
  const folders = () =>
    Promise.all(["daemon/checkpoints", "engine/checkpoints"].map((name) => readdir(join(home.home, name))));
  let keptId: string;
  {
    await using daemon = await open();
    const { fleet, store } = daemon;
    const { record } = await fleet.create(caller, {});
    const [kept, lost] = [
      await fleet.checkpoints.create(caller, record.id, "kept"),
      await fleet.checkpoints.create(caller, record.id, "lost"),
    ];
    keptId = kept.id;
    // As a kill leaves it between the engine's part and the record, or between the record's end and the engine's.
    await store.checkpoints.delete(lost.id);
    const draft = join(home.home, "daemon/checkpoints/.checkpoint half");
    await mkdir(draft);
    await writeFile(join(draft, "output"), "half");
    expect((await daemon.vault.keyNames()).length).toBe(2);
    await fleet.destroy(caller, record.id);
  }
  await using daemon = await open();
  await daemon.fleet.swept;
  expect(await folders()).toEqual([[keptId], [keptId]]);
  expect((await daemon.vault.keyNames()).length).toBe(1);
  expect((await daemon.fleet.checkpoints.list(caller, { limit: 10 })).map(({ name }) => name)).toEqual(["kept"]);
  const { id } = await daemon.fleet.checkpoints.restore(caller, keptId);
  await daemon.fleet.destroy(caller, id);
  await daemon.fleet.checkpoints.delete(caller, keptId);
  expect(await folders()).toEqual([[], []]);
  expect(await daemon.vault.keyNames()).toEqual([]);
  expect(await daemon.caisson.layers()).toEqual([]);
  expect(daemon.errors).toEqual([]);
});
