import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, stat, statfs, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "../../packages/server/src/core/engine.ts";
import { checkpointLimits } from "../../packages/server/src/core/fork-limits.ts";
import { guestPath } from "../harness.ts";
import { limits, makeHome, openEngine } from "./fixture.ts";

const plenty = 64 * 1024 ** 3;
const spec = { limits, keep: true };
const key = randomBytes(32);

describe("the memory that a gVisor engine saves", () => {
  let home: Awaited<ReturnType<typeof makeHome>>;
  let engine: Engine;
  let availableBytes = plenty;
  let errors: string[];
  const open = () =>
    openEngine("gvisor", home, {
      guestPath,
      availableMemoryBytes: () => availableBytes,
      onError: (error) => errors.push(String(error)),
    });
  beforeEach(async () => {
    availableBytes = plenty;
    errors = [];
    home = await makeHome();
    engine = await open();
  });
  afterEach(async () => {
    for (const name of await readdir(join(home.home, "engine/sandboxes"))) await engine.destroyKept(name);
    await engine[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  const layersOf = async () => (await engine.layers()).map(({ id }) => id);
  const inEngine = (...path: string[]) => join(home.home, "engine", ...path);

  it("[S76] is refused before the sandbox is touched where the machine has too little to spare", async () => {
    const { id } = await engine.create(spec);
    availableBytes = checkpointLimits.hostMemoryBytes + 1024;
    const layers = await layersOf();
    await expect(engine.checkpoint(id)).rejects.toMatchObject({
      code: "limit_exceeded",
      message: expect.stringContaining("not enough memory for saving"),
      hint: expect.any(String),
    });
    expect(await layersOf()).toEqual(layers);
    expect((await engine.stats(id)).processes).toBeGreaterThan(0);
    availableBytes = plenty;
    const { id: checkpoint } = await engine.checkpoint(id); // nothing is left of the one that was refused
    await engine.restore(id, checkpoint);
    await engine.forgetCheckpoint(checkpoint);
  });

  it("[S76] is promised before it is taken: of two at once where one has room, one is refused, and the room comes back", async () => {
    const made = [(await engine.create(spec)).id, (await engine.create(spec)).id];
    const most = Math.max(...(await Promise.all(made.map(async (id) => (await engine.stats(id)).memoryBytes))));
    availableBytes = checkpointLimits.hostMemoryBytes + most + 1.5 * checkpointLimits.growthBytes;
    const saved = await Promise.allSettled(made.map((id) => engine.checkpoint(id)));
    expect(saved.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    for (const [index, outcome] of saved.entries()) {
      const id = made[index] ?? "";
      if (outcome.status === "rejected") {
        expect(outcome.reason).toMatchObject({ code: "limit_exceeded" });
        continue;
      }
      // Its sandbox can go on: nobody is promised what it needs for that.
      const others = made.filter((other) => other !== id);
      for (const other of others) await expect(engine.checkpoint(other)).rejects.toThrow("not enough memory");
      await engine.restore(id, outcome.value.id);
      for (const other of others) {
        const next = await engine.checkpoint(other);
        await engine.restore(other, next.id);
        await engine.forgetCheckpoint(next.id);
      }
      availableBytes = checkpointLimits.hostMemoryBytes + 1024;
      await expect(engine.createFrom(outcome.value.id)).rejects.toThrow("not enough memory for a sandbox");
      availableBytes = plenty;
      const copy = await engine.createFrom(outcome.value.id);
      expect(copy.id).not.toBe(id);
      await engine.forgetCheckpoint(outcome.value.id);
    }
  });

  it("[S66] keeps the layers that it rests on, whoever goes meanwhile", async () => {
    const { id } = await engine.create(spec);
    const { id: checkpoint } = await engine.checkpoint(id);
    await engine.restore(id, checkpoint);
    const [layer = ""] = await layersOf();
    await engine.destroy(id);
    expect(await layersOf()).toEqual([layer]);
    await expect(engine.removeLayer(layer)).rejects.toMatchObject({ code: "conflict" });
    const copy = await engine.createFrom(checkpoint);
    await engine.forgetCheckpoint(checkpoint);
    expect(await layersOf()).toEqual([layer]);
    await engine.destroy(copy.id);
    expect(await layersOf()).toEqual([]);
  });

  it("[S66] keeps no layer once its engine is gone", async () => {
    const { id } = await engine.create(spec);
    const { id: checkpoint } = await engine.checkpoint(id);
    await engine.restore(id, checkpoint);
    await engine.destroy(id);
    expect(await layersOf()).toHaveLength(1);
    await mkdir(inEngine("checkpoints", ".aaaaaaaaaaaaaaaa"), { recursive: true }); // one that was being kept
    await engine[Symbol.asyncDispose]();
    engine = await open();
    expect(await layersOf()).toEqual([]);
    expect(await readdir(inEngine("holds"))).toEqual([]);
    expect(await readdir(inEngine("checkpoints"))).toEqual([]);
  });

  it("[S66] is set aside where its record is damaged: its layers stay, and everything else goes on", async () => {
    const kept = async () => {
      const { id } = await engine.create(spec);
      const { id: checkpoint } = await engine.checkpoint(id);
      await engine.restore(id, checkpoint);
      await engine.keepCheckpoint(checkpoint, key);
      await engine.forgetCheckpoint(checkpoint);
      await engine.destroy(id);
      return checkpoint;
    };
    const bad = await kept();
    const layers = await layersOf();
    const record = inEngine("checkpoints", bad, "checkpoint.json");
    const whole = await readFile(record, "utf8");
    for (const text of [
      whole.slice(0, whole.length / 2),
      "",
      "null",
      JSON.stringify({ ...JSON.parse(whole), layers: {} }),
    ]) {
      await writeFile(record, text);
      errors = [];
      await engine[Symbol.asyncDispose]();
      engine = await open();
      expect(String(errors)).toContain(`the record of checkpoint ${bad} is damaged`);
      await expect(engine.loadCheckpoint(bad, key)).rejects.toMatchObject({ code: "unavailable" });
      await expect(engine.removeLayer(layers[0] ?? "")).rejects.toMatchObject({ code: "conflict" });
      expect(await layersOf()).toEqual(layers);
    }
    const good = await kept();
    await engine.loadCheckpoint(good, key);
    const copy = await engine.createFrom(good);
    await engine.forgetCheckpoint(good);
    const frozen = await engine.freeze(copy.id, { keep: false });
    expect(frozen.uses).toBe(0);
    await engine.removeCheckpoint(good);
    expect(await layersOf()).toEqual(expect.arrayContaining(layers));
    await engine.removeCheckpoint(bad);
    await engine.removeLayer(frozen.id);
    await engine[Symbol.asyncDispose]();
    engine = await open();
    expect(await layersOf()).toEqual([]);
  });

  it("[S76] is kept only where the disk has room for it beside what is promised", async () => {
    const { id } = await engine.create(spec);
    const { id: checkpoint, memoryBytes } = await engine.checkpoint(id);
    await engine.restore(id, checkpoint);
    const { bavail, bsize } = await statfs(home.home);
    const other = inEngine("checkpoints", ".bbbbbbbbbbbbbbbb");
    await mkdir(other, { recursive: true });
    // Another that is being written, and has promised all there is.
    await writeFile(join(other, "claim"), "");
    await truncate(join(other, "claim"), bavail * bsize);
    await expect(engine.keepCheckpoint(checkpoint, key)).rejects.toMatchObject({ code: "limit_exceeded" });
    await expect(engine.checkpoint(id)).rejects.toMatchObject({ code: "limit_exceeded" });
    expect((await engine.stats(id)).processes).toBeGreaterThan(0);
    await expect(engine.freeze(id, { keep: true, copy: true })).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(existsSync(inEngine("checkpoints", checkpoint))).toBe(false);
    expect((await readdir(inEngine("layers"))).filter((name) => name.startsWith("."))).toEqual([]);
    // What it has written counts no more.
    await truncate(join(other, "claim"), 0);
    await engine.keepCheckpoint(checkpoint, key);
    const sealed = await stat(inEngine("checkpoints", checkpoint, "memory.sealed"));
    expect(sealed.size).toBeLessThan(memoryBytes);
    expect(await readdir(inEngine("checkpoints", checkpoint))).toEqual(["checkpoint.json", "memory.sealed"]);
    await engine.forgetCheckpoint(checkpoint);
    await engine.removeCheckpoint(checkpoint);
  });
});
