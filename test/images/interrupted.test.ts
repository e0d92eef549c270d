import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildLimits } from "../../packages/server/src/images/limits.ts";
import { makeHome, until } from "../fleet/fixture.ts";
import { ordinary } from "../harness.ts";
import { killOwner } from "../sandbox/owner.ts";
import {
  admin,
  command,
  logOf,
  openImages,
  openRegistries,
  runIn,
  type TestImages,
  type TestRegistries,
} from "./fixture.ts";

const endless = "name: made\ndebian: [tool]\nrun:\n  - sleep 1000\n";
const ending = "name: made\ndebian: [tool]\n";

/** Told once, however soon the next one begins. */
const begun = ({ events }: TestImages, id: string, step: string) =>
  until(() => events.some(({ type, data }) => type === "image.building" && data.image_id === id && data.step === step));

describe.skipIf(ordinary)("the making of an image", () => {
  let registries: TestRegistries;
  beforeAll(async () => {
    registries = await openRegistries();
  });
  afterAll(() => registries?.[Symbol.asyncDispose]());

  /** Runs a daemon and kills it with -9 once that step has begun. */
  async function killAt(home: string, step: string): Promise<void> {
    const { apt, dns } = registries;
    const words = [join(import.meta.dirname, "images-owner.ts"), home, JSON.stringify({ apt, dns }), endless];
    const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    let killed: Promise<void> | undefined;
    for await (const line of createInterface({ input: child.stdout })) if (line === step) killed = killOwner(child);
    await killed;
    expect(child.signalCode).toBe("SIGKILL");
  }

  it.each(["debian: download", "run 1"])(
    "[IMG-04] that is killed with -9 at `%s` leaves nothing to the next daemon, which can make it",
    async (step) => {
      await using home = await makeHome();
      await killAt(home.home, step);
      await using service = await openImages(home.home, registries);
      expect(service.images.list()).toMatchObject([{ name: "made", state: "failed", step }]);
      expect(service.images.get("made").error).toBe(`${step}: the daemon ended during the build`);
      await until(async () => (await service.caisson.keptSandboxes()).length === 0);
      await until(async () => (await service.caisson.layers()).length === 0);
      const { record } = await service.imageBuilds.importSpec(admin, ending);
      expect((await logOf(service, record.id)).at(-1)).toMatchObject({ state: "ready" });
      expect(service.images.list().map(({ id }) => id)).toEqual([record.id]);
      expect((await runIn(service, "made", "container", "tool")).stdout).toBe("from the library\n");
      await service.imageBuilds.delete(admin, "made");
      expect(await service.caisson.layers()).toEqual([]);
    },
    300_000,
  );

  it("ends when it is deleted, at whatever step, and leaves nothing", async () => {
    await using home = await makeHome();
    await using service = await openImages(home.home, registries);
    for (const step of ["debian: index", "debian: unpack", "run 1"]) {
      const { record } = await service.imageBuilds.importSpec(admin, endless);
      await begun(service, record.id, step);
      const message = expect.stringMatching(/^cannot build the image made: .*the image was deleted$/);
      const refused = { code: "unavailable", message };
      const waits = expect(service.create(admin, { image: "made" })).rejects.toMatchObject(refused);
      await service.imageBuilds.delete(admin, "made");
      await waits;
      expect(service.images.list()).toEqual([]);
      expect(await service.caisson.layers()).toEqual([]);
      expect(await service.caisson.keptSandboxes()).toEqual([]);
    }
    expect(service.errors).toEqual([]);
  }, 300_000);

  it("ends with the daemon, which says so", async () => {
    await using home = await makeHome();
    {
      await using service = await openImages(home.home, registries);
      const { record } = await service.imageBuilds.importSpec(admin, endless);
      await begun(service, record.id, "run 1");
    }
    await using service = await openImages(home.home, registries);
    expect(service.images.get("made")).toMatchObject({
      state: "failed",
      error: "run 1: the daemon is shutting down",
      layerId: null,
    });
    expect(await service.caisson.layers()).toEqual([]);
    expect(await service.caisson.keptSandboxes()).toEqual([]);
  }, 300_000);

  it("[LIF-11] has few others beside it, whatever room the queue has", async () => {
    await using home = await makeHome();
    await using service = await openImages(home.home, registries);
    const made = [];
    for (const at of [1, 2, 3])
      made.push((await service.imageBuilds.importSpec(admin, endless.replace("made", `made-${at}`))).record.id);
    for (const id of made.slice(0, buildLimits.atOnce)) await begun(service, id, "run 1");
    expect(service.fleet.queue()).toMatchObject({ running: buildLimits.atOnce, waiting: 1 });
    expect(service.images.get("made-3")).toMatchObject({ state: "building", step: null });
    expect((await runIn(service, "host", "container", "echo well")).stdout).toBe("well\n");
    await service.imageBuilds.delete(admin, "made-1");
    await begun(service, made[2] ?? "", "debian: index");
    for (const id of made.slice(1)) await service.imageBuilds.delete(admin, id);
    expect(await service.caisson.layers()).toEqual([]);
  }, 300_000);

  it("[LIF-11] waits for its place in the queue of all jobs, and gives it up when it is deleted", async () => {
    await using home = await makeHome();
    await using service = await openImages(home.home, registries, { maxConcurrent: 1 });
    const { record: box } = await service.create(admin, {});
    const stop = new AbortController();
    const job = service.fleet.run(admin, box.id, command("sleep 1000"), {}, (sandbox) =>
      sandbox.run({ signal: stop.signal }),
    );
    await until(() => service.fleet.queue().running === 1);
    const first = await service.imageBuilds.importSpec(admin, ending);
    const second = await service.imageBuilds.importSpec(admin, endless);
    expect(service.fleet.queue()).toMatchObject({ running: 1, waiting: 2 });
    expect(service.images.get(first.record.id)).toMatchObject({ state: "building", step: null });
    await service.imageBuilds.delete(admin, second.record.id);
    expect(service.fleet.queue()).toMatchObject({ running: 1, waiting: 1 });
    stop.abort();
    await job.catch(() => undefined);
    expect((await logOf(service, first.record.id)).at(-1)).toMatchObject({ state: "ready" });
    await service.fleet.destroy(admin, box.id);
    await service.imageBuilds.delete(admin, first.record.id);
  }, 300_000);
});
