import { describe, expect, it } from "vitest";
import { noApt } from "../../packages/server/src/core/apt.ts";
import { engineLimits } from "../../packages/server/src/engines/limits.ts";
import { readSpec } from "../../packages/server/src/images/read-spec.ts";
import { noRegistries } from "../../packages/server/src/package-install/read-registries.ts";
import { engines, ordinary } from "../harness.ts";
import { openDeployment } from "./deployment.ts";
import { callerOf, makeHome, settings, small, type TestFleet, until } from "./fixture.ts";
import { mountDisk } from "./small-disk.ts";

const MiB = 1024 ** 2;
const alice = callerOf("alice");
const bob = callerOf("bob");
const room = (mebibytes: number) => engineLimits.diskReserveBytes + mebibytes * MiB;
const pastShare = {
  code: "limit_exceeded",
  message: expect.stringContaining("namespace_storage_percent: 80"),
  details: { shareBytes: expect.any(Number), reserveBytes: engineLimits.diskReserveBytes },
};

const create = async ({ fleet }: TestFleet, caller = alice, mebibytes?: number) => {
  const limits = mebibytes === undefined ? {} : { storageBytes: mebibytes * MiB };
  return (await fleet.create(caller, { limits })).record.id;
};

describe.skipIf(ordinary)("the disk that namespaces share", () => {
  it("[S92] one that is past its share is refused by the name of the setting, and others get their sandbox", async () => {
    await using own = await makeHome();
    using _disk = mountDisk(own.home, room(1024));
    await using test = await own.open();
    const made = [await create(test, alice, 256), await create(test, alice, 256), await create(test, alice, 256)];
    await expect(create(test, alice, 256)).rejects.toMatchObject(pastShare);
    const others = await create(test, bob);
    const [first = ""] = made;
    // What a stopped one may still write counts, and what a copy may.
    await test.fleet.stop(alice, first);
    await expect(create(test, alice, 256)).rejects.toMatchObject(pastShare);
    const fork = test.fleet.fork(alice, made[1] ?? "", { count: 1, memory: "never" });
    await expect(fork).rejects.toMatchObject(pastShare);
    await test.fleet.destroy(alice, first);
    made.push(await create(test, alice, 256));
    for (const id of made.slice(1)) await test.fleet.destroy(alice, id);
    await test.fleet.destroy(bob, others);
  });

  it("[S92] what is written is no less of a share than what is promised", async () => {
    await using own = await makeHome();
    using _disk = mountDisk(own.home, room(512));
    await using test = await own.open();
    const first = await create(test, alice, 256);
    const write = { command: "head -c 200000000 /dev/zero > big; sync big", trackFiles: false };
    await test.fleet.use(alice, first, (sandbox) => sandbox.exec(write));
    await expect(create(test, alice, 256)).rejects.toMatchObject(pastShare);
    const second = await create(test, alice, 128);
    for (const id of [first, second]) await test.fleet.destroy(alice, id);
  });

  it("[S92] of many that come at once no more are made than fit", async () => {
    await using own = await makeHome();
    using _disk = mountDisk(own.home, room(1024));
    await using test = await own.open();
    const asked = await Promise.allSettled(Array.from({ length: 6 }, () => create(test, alice, 256)));
    const made = asked.filter((one) => one.status === "fulfilled").map(({ value }) => value);
    expect(made.length).toBeGreaterThan(0);
    expect(made.length).toBeLessThanOrEqual(3);
    for (const one of asked) if (one.status === "rejected") expect(one.reason).toMatchObject(pastShare);
    for (const id of made) await test.fleet.destroy(alice, id);
  });

  it("[S97] a request past its namespace's share, or past a cap, has no image made", async () => {
    await using own = await makeHome();
    using _disk = mountDisk(own.home, room(512));
    const text = "name: tools\ndebian: [jq]\n";
    const packages = {
      ...{ registries: noRegistries, apt: noApt, mustPin: false, makesCatalogue: true },
      catalogue: [{ spec: await readSpec(text), text }],
    };
    await using test = await openDeployment(own.home, { settings, packages, onError: () => undefined });
    const ask = (limits: { storageBytes?: number; memoryBytes?: number }) =>
      test.create(alice, { image: "tools", limits });
    await expect(ask({ storageBytes: 500 * MiB })).rejects.toMatchObject(pastShare);
    await expect(ask({ memoryBytes: 2 ** 60 })).rejects.toThrow("memory");
    expect(test.images.list()).toEqual([]);
  });

  it("[S92] is one namespace's alone where the setting says so", async () => {
    await using own = await makeHome();
    using _disk = mountDisk(own.home, room(512));
    await using test = await own.open({ namespaceStoragePercent: 100 });
    const made = [await create(test, alice, 256), await create(test, alice, 240)];
    for (const id of made) await test.fleet.destroy(alice, id);
  });

  it("[S96] gives a sandbox that names no storage less of a small disk, and what is set of any", async () => {
    await using own = await makeHome();
    using _disk = mountDisk(own.home, room(3072));
    const { storageBytes: _, ...limits } = small;
    const sizes: number[] = [];
    for (const given of [limits, { ...limits, storageBytes: 48 * MiB }]) {
      await using test = await own.open({ limits: given });
      const id = await create(test);
      sizes.push((await test.fleet.get(alice, id)).limits.storageBytes / MiB);
      await test.fleet.destroy(alice, id);
    }
    expect(sizes).toEqual([512, 48]);
  });
});

describe.each(engines)("a sandbox that asks for less storage than those that wait have (%s)", (engine) => {
  it("[S96] has just that much", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine, poolSize: 1, limits: { ...small, storageBytes: 96 * MiB } });
    await until(() => test.fleet.pools().some(({ ready }) => ready === 1));
    const id = await create(test, alice, 32);
    expect(await test.fleet.get(alice, id)).toMatchObject({
      origin: "cold: it asks for other storage than those in the pool have",
      limits: { storageBytes: 32 * MiB },
    });
    const write = { command: "head -c 60000000 /dev/zero > big; stat -c %s big" };
    const { stdout, stderr } = await test.fleet.use(alice, id, (sandbox) => sandbox.exec(write));
    expect(stderr).toContain("No space left");
    expect(Number(stdout)).toBeLessThan(32 * MiB);
    await test.fleet.destroy(alice, id);
  });
});
