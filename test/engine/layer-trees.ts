import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Engine, EngineName } from "../../packages/server/src/core/engine.ts";
import type { LayerInfo } from "../../packages/server/src/core/layer.ts";
import { listKept } from "../../packages/server/src/engines/oci/kept.ts";
import { limits, type makeHome, openEngine, Puppet } from "./fixture.ts";

/** Makes of /workspace a tree that can be a root. */
export const makeRoot = readFileSync(join(import.meta.dirname, "root-tree.py"), "utf8");

/** What the code makes of an empty workspace, as a layer; its sandbox is gone. */
export async function freezeTree(engine: Engine, code: string): Promise<LayerInfo> {
  const made = await engine.create({ limits });
  {
    using puppet = new Puppet(made);
    await puppet.run(code);
  }
  return engine.freeze(made.id, { keep: false });
}

/** An engine whose kept sandboxes end with it. */
export async function openTidyEngine(name: EngineName, home: Awaited<ReturnType<typeof makeHome>>) {
  const engine = await openEngine(name, home);
  const close = engine[Symbol.asyncDispose].bind(engine);
  engine[Symbol.asyncDispose] = async () => {
    const kept = await listKept(home.home, () => undefined);
    for (const { id } of kept.filter((sandbox) => sandbox.engine === name)) await engine.destroyKept(id);
    await close();
  };
  return engine;
}
