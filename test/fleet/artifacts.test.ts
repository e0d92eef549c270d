import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import { callerOf, makeHome, until } from "./fixture.ts";
import { SetClock } from "./set-clock.ts";

const alice = callerOf("alice");
const bob = callerOf("bob");
const hour = 3_600_000;

async function blobsOf(home: string): Promise<number> {
  const names = await readdir(join(home, "daemon/blobs"), { recursive: true });
  return names.filter((name) => /^..\/.{62}$/.test(name)).length;
}

describe.each(engines)("artifacts of a sandbox that is destroyed (%s)", (engine) => {
  it("[LIF-13] can be had for the time that its creation named, by its own namespace, and are gone then", async () => {
    await using own = await makeHome();
    const clock = new SetClock();
    let id: string;
    {
      await using first = await own.open({ engine }, clock);
      const { fleet, storage, store } = first;
      id = (await fleet.create(alice, { keepArtifactsMs: hour })).record.id;
      const large = "head -c 3000000 /dev/zero > output/large";
      await fleet.use(alice, id, (sandbox) =>
        sandbox.exec({
          command: `mkdir -p output/a; echo one > output/a/é; ${large}; ln -s /etc/passwd output/link; echo no > file`,
        }),
      );
      await expect(storage.artifacts.files(alice, id)).rejects.toMatchObject({ code: "not_found" });
      await fleet.destroy(alice, id);
      const log = (await store.audit.search({ sandboxId: id, after: 0 })).map(({ type }) => type);
      expect(log).toEqual(["sandbox.created", "execution.completed", "artifacts.kept", "sandbox.destroyed"]);
      expect(await first.caisson.keptSandboxes()).toEqual([]);
    }
    // They outlive the daemon, too.
    await using second = await own.open({ engine }, clock);
    const { artifacts, sweeper } = second.storage;
    await sweeper.settled();
    expect(await artifacts.list(alice, { limit: 10 })).toMatchObject([{ id, files: 2, totalBytes: 3_000_004 }]);
    expect((await artifacts.files(alice, id)).map(({ path, size_bytes }) => [path, size_bytes])).toEqual([
      ["a/é", 4],
      ["large", 3_000_000],
    ]);
    const { bytes } = await artifacts.read(alice, id, "a/é");
    expect(Buffer.concat(await Array.fromAsync(bytes)).toString()).toBe("one\n");
    const large = await artifacts.read(alice, id, "large");
    expect(Buffer.concat(await Array.fromAsync(large.bytes)).equals(Buffer.alloc(3_000_000))).toBe(true);
    await expect(artifacts.read(alice, id, "link")).rejects.toMatchObject({ code: "not_found" });
    await expect(artifacts.files(bob, id)).rejects.toMatchObject({ code: "not_found" });
    expect(await artifacts.list(bob, { limit: 10 })).toEqual([]);

    expect(await blobsOf(own.home)).toBeGreaterThan(0);
    clock.pass(hour + 1000);
    await expect(artifacts.files(alice, id)).rejects.toMatchObject({ code: "not_found" });
    expect(await artifacts.list(alice, { limit: 10 })).toEqual([]);
    await artifacts.expire();
    await sweeper.settled();
    expect(await blobsOf(own.home)).toBe(0);
    expect(await second.store.artifacts.get(id)).toBeUndefined();
    const ended = await second.store.audit.search({ sandboxId: id, type: "artifacts.expired", after: 0 });
    expect(ended).toMatchObject([{ actor: "system", namespace: "alice" }]);
  });

  it("[LIF-13] are kept of one that is stopped, and of one whose lifetime is over; of another nothing is", async () => {
    await using own = await makeHome();
    const clock = new SetClock();
    await using test = await own.open({ engine, lifetimeMs: 2 * hour, keepArtifactsMs: 10 * hour }, clock);
    const { fleet, storage } = test;
    const make = async (keep?: { keepArtifactsMs: number }) => {
      const { id } = (await fleet.create(alice, { ...keep })).record;
      await fleet.use(alice, id, (sandbox) => sandbox.files.write("output/file", id));
      return id;
    };
    const [stopped, old, none] = [await make(), await make(), await make({ keepArtifactsMs: 0 })];
    await fleet.stop(alice, stopped);
    await fleet.destroy(alice, stopped);
    await fleet.destroy(alice, none);
    clock.pass(3 * hour);
    await until(async () => (await fleet.list(alice, { limit: 10 })).length === 0);
    await until(async () => (await test.caisson.keptSandboxes()).length === 0);
    for (const id of [stopped, old]) {
      const { bytes } = await storage.artifacts.read(alice, id, "file");
      expect(Buffer.concat(await Array.fromAsync(bytes)).toString()).toBe(id);
    }
    await expect(storage.artifacts.files(alice, none)).rejects.toMatchObject({ code: "not_found" });
  });

  it("[LIF-13] that cannot be kept do not keep the sandbox: it ends, and the log says what was lost", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine });
    const { fleet, storage, store } = test;
    const { id } = (await fleet.create(alice, { keepArtifactsMs: hour })).record;
    await fleet.use(alice, id, (sandbox) => sandbox.exec({ command: "truncate -s 1T output/bomb" }));
    await fleet.destroy(alice, id);
    expect(await test.caisson.keptSandboxes()).toEqual([]);
    expect(await store.audit.search({ sandboxId: id, type: "artifacts.failed", after: 0 })).toMatchObject([
      { detail: { reason: expect.stringContaining("larger than the limit for kept artifacts") } },
    ]);
    expect(await storage.artifacts.list(alice, { limit: 10 })).toEqual([]);
    await storage.sweeper.settled();
    expect(await blobsOf(own.home)).toBe(0);
  });

  it("[LIF-13] go with a reset; a snapshot makes the workspace of the next user, without the former one's files and processes", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine });
    const { fleet, storage } = test;
    const { id } = (await fleet.create(alice, {})).record;
    const exec = async (command: string) => (await fleet.use(alice, id, (sandbox) => sandbox.exec({ command }))).stdout;
    await exec("echo base > base");
    const snapshot = await fleet.use(alice, id, (sandbox) => storage.snapshots.create(alice, sandbox));
    await exec("echo secret > output/mine; echo changed > base; (sleep 1000 &)");
    await fleet.reset(alice, id);
    await fleet.use(alice, id, (sandbox) => storage.snapshots.restore(alice, sandbox, snapshot.id));
    expect(await exec("cat base; ls . output")).toBe("base\n.:\nbase\noutput\n\noutput:\n");
    expect(await exec("cat /proc/[0-9]*/comm 2>/dev/null | grep -c sleep")).toBe("0\n");
    await fleet.destroy(alice, id);
  });
});
