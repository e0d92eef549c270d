import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { listKept } from "../../packages/server/src/engines/oci/kept.ts";
import {
  draftFolder,
  findLayerRecord,
  layerFolder,
  readLayerRecord,
  volumePath,
  writeLayerRecord,
} from "../../packages/server/src/engines/oci/layer-record.ts";
import { seed, soak } from "../harness.ts";
import { engineNames, limits, makeHome, openEngine, Puppet } from "./fixture.ts";
import { freezeTree, openTidyEngine } from "./layer-trees.ts";

const kills = soak ? 40 : 2;

function random(state: number): () => number {
  let value = state;
  return () => {
    value = (Math.imul(value, 1_664_525) + 1_013_904_223) >>> 0;
    return value / 2 ** 32;
  };
}

async function runKilledOwner(name: EngineName, home: string, puppet: string, id: string, mode: string, at: number) {
  const script = join(import.meta.dirname, "freezing-owner.ts");
  const owner = spawn(process.execPath, [script, name, home, puppet, id, mode], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(owner, "exit");
  let steps = 1 + Math.floor(at * 5);
  for await (const _ of createInterface({ input: owner.stdout })) if (--steps === 0) break;
  await sleep(at * 100); // the moment is what is tried: any will do
  owner.kill("SIGKILL");
  await exited;
}

const isLayer = (name: string) => /^[a-z2-7]{16}$/.test(name);

async function oddEntries(home: string): Promise<string[]> {
  const names = await readdir(join(home, "engine/layers")).catch(() => []);
  return names.filter((name) => !isLayer(name) && name !== "mounted");
}

/** The helper of a killed owner ends a moment after it; until then what it holds is not another's to end. */
async function openWhenLeft(
  name: EngineName,
  home: Awaited<ReturnType<typeof makeHome>>,
  isLeft: () => Promise<boolean>,
) {
  for (const deadline = Date.now() + 30_000; ; await sleep(20)) {
    const engine = await openEngine(name, home);
    if ((await isLeft()) || Date.now() > deadline) return engine;
    await engine[Symbol.asyncDispose]();
  }
}

/** What is neither a layer nor a part of a kept sandbox. */
async function remains(home: string): Promise<string[]> {
  const kept = (await listKept(home, () => undefined)).map(({ id }) => id);
  const names = (await readdir(join(home, "engine/sandboxes"))).filter((name) => !kept.includes(name));
  return [...names, ...(await oddEntries(home))];
}

describe.each(engineNames)("layers of engine %s whose engine is killed at any moment", (name) => {
  it.each(["keep", "copy"])("keep every file of their sandbox (%s)", async (mode) => {
    await using home = await makeHome();
    const next = random(seed + engineNames.indexOf(name));
    let id: string;
    {
      await using engine = await openEngine(name, home);
      const made = await engine.create({ limits, keep: true });
      id = made.id;
      {
        using puppet = new Puppet(made);
        await puppet.run('open("/workspace/first", "w").write("day")');
      }
      const { id: layer } = await engine.freeze(id, { keep: true });
      expect(isLayer(layer)).toBe(true);
    }
    for (let kill = 0; kill < kills; kill++) {
      await runKilledOwner(name, home.home, home.puppetPath, id, mode, next());
      await using engine = await openWhenLeft(name, home, async () => (await remains(home.home)).length === 0);
      expect(await remains(home.home)).toEqual([]);
      await engine.stop(id);
      using puppet = new Puppet(await engine.start(id));
      const files = (await puppet.run('sorted(os.listdir("/workspace"))')) as string[];
      if (mode === "copy") expect(files).toContain("first");
      await puppet.run('open("/workspace/first", "w").write("day")');
      await engine.stop(id);
      expect(await oddEntries(home.home)).toEqual([]);
      for (const { uses, id: layer } of (await engine.layers()).reverse())
        if (uses === 0) await engine.removeLayer(layer);
    }
    await using engine = await openTidyEngine(name, home);
    expect(await engine.layers()).not.toEqual([]);
  });

  it("are whole or gone where they are made and removed", async () => {
    await using home = await makeHome();
    const next = random(seed + 7 + engineNames.indexOf(name));
    for (let kill = 0; kill < kills; kill++) {
      await runKilledOwner(name, home.home, home.puppetPath, "none", "build", next());
      await using engine = await openWhenLeft(name, home, async () => (await remains(home.home)).length === 0);
      for (const { id } of await listKept(home.home, () => undefined)) await engine.destroyKept(id);
      expect(await remains(home.home)).toEqual([]);
      for (const layer of await engine.layers()) {
        expect(layer.digest).not.toBeNull();
        await engine.destroy((await engine.create({ limits, base: layer.id })).id);
        await engine.removeLayer(layer.id);
      }
    }
  });
});

/** Another one of the same sandbox, which does not rely on it. */
async function leaveDraft(engineFolder: string, like: string, id: string): Promise<void> {
  const record = await findLayerRecord(draftFolder(engineFolder, like), like);
  if (record === undefined) throw new Error("there is no such layer");
  await mkdir(draftFolder(engineFolder, id));
  await writeLayerRecord(draftFolder(engineFolder, id), { ...record, id });
}

describe("a layer that was half made", () => {
  /** A kept sandbox that was frozen, taken back to a step of it. */
  async function halfMade(home: Awaited<ReturnType<typeof makeHome>>, step: "recorded" | "moved" | "unrecorded") {
    const engineFolder = join(home.home, "engine");
    await using engine = await openEngine("container", home);
    const made = await engine.create({ limits, keep: true });
    {
      using puppet = new Puppet(made);
      await puppet.run('open("/workspace/word", "w").write("kept")');
    }
    const { id } = await engine.freeze(made.id, { keep: true });
    for (let record = await readLayerRecord(engineFolder, id); record.digest === null; await sleep(5))
      record = await readLayerRecord(engineFolder, id); // nothing writes there any more
    await rename(layerFolder(engineFolder, id), draftFolder(engineFolder, id));
    const volume = volumePath(draftFolder(engineFolder, id), "image");
    if (step !== "moved") await rename(volume, join(engineFolder, "sandboxes", made.id, "workspace.img"));
    if (step === "unrecorded") await leaveDraft(engineFolder, id, "b".repeat(16));
    return made.id;
  }

  it.each(["recorded", "moved", "unrecorded"] as const)(
    "is finished where its sandbox relies on it, and else gone (%s)",
    async (step) => {
      await using home = await makeHome();
      const id = await halfMade(home, step);
      await using engine = await openTidyEngine("container", home);
      expect(await oddEntries(home.home)).toEqual([]);
      expect(await engine.layers()).toMatchObject([{ uses: 1 }]);
      using puppet = new Puppet(await engine.start(id));
      expect(await puppet.run('open("/workspace/word").read()')).toBe("kept");
    },
  );

  it("comes back where a removal was begun of what a sandbox needs, and goes where none does", async () => {
    await using home = await makeHome();
    const engineFolder = join(home.home, "engine");
    let needed: string;
    let free: string;
    {
      await using engine = await openEngine("container", home);
      needed = (await freezeTree(engine, 'open("/workspace/word", "w").write("kept")')).id;
      free = (await freezeTree(engine, "1")).id;
      const made = await engine.create({ limits, base: needed, keep: true });
      await engine.stop(made.id);
      for (const id of [needed, free])
        await rename(layerFolder(engineFolder, id), join(engineFolder, `layers/.gone-${id}`));
    }
    await using engine = await openTidyEngine("container", home);
    expect((await engine.layers()).map(({ id }) => id)).toEqual([needed]);
    expect(existsSync(join(engineFolder, `layers/.gone-${free}`))).toBe(false);
  });
});
