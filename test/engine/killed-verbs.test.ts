import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { CreatedSandbox, Engine, EngineName } from "../../packages/server/src/core/engine.ts";
import { listKept } from "../../packages/server/src/engines/oci/kept.ts";
import { seed, soak } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import { engineNames, limits, makeHome, openEngine, Puppet } from "./fixture.ts";

const kills = soak ? 60 : 3;
const word = "WORD-OF-THE-FIRST-DAY";

function random(state: number): () => number {
  let value = state;
  return () => {
    value = (Math.imul(value, 1_664_525) + 1_013_904_223) >>> 0;
    return value / 2 ** 32;
  };
}

/** An owner that goes through the verbs; killed some moment after it has said some of its steps. */
async function runKilledOwner(
  name: EngineName,
  home: string,
  puppet: string,
  id: string,
  mode: string,
  next: () => number,
) {
  const script = join(import.meta.dirname, "restless-owner.ts");
  const owner = spawn(process.execPath, [script, name, home, puppet, id, mode], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(owner, "exit");
  let steps = 1 + Math.floor(next() * 8);
  for await (const _ of createInterface({ input: owner.stdout })) if (--steps === 0) break;
  await sleep(next() * 150); // the moment is what is tried: any will do
  owner.kill("SIGKILL");
  await exited;
}

/** Whatever was left becomes a sandbox that runs. */
async function revive(engine: Engine, home: string, id: string): Promise<CreatedSandbox> {
  const [kept] = await listKept(home, (error) => {
    throw error;
  });
  expect(kept?.id).toBe(id);
  if (kept?.state === "running" || kept?.state === "paused") {
    await engine.attach(id);
    await engine.stop(id); // its wire may hold what the dead owner asked for
  }
  return engine.start(id);
}

describe.each(engineNames)("a sandbox of engine %s whose engine is killed at any moment", (name) => {
  it.each(["keep", "reset"])("[FIL-07] runs again, with its files as they must be (%s)", async (mode) => {
    await using home = await makeHome();
    const next = random(seed + engineNames.indexOf(name));
    let id: string;
    {
      await using engine = await openEngine(name, home);
      const made = await engine.create({ limits, keep: true });
      id = made.id;
      {
        using puppet = new Puppet(made);
        await puppet.run(`open("/workspace/word", "w").write("${word}")`);
      }
      await engine.stop(id);
    }
    for (let kill = 0; kill < kills; kill++) {
      await runKilledOwner(name, home.home, home.puppetPath, id, mode, next);
      await using engine = await openEngine(name, home);
      const sandbox = await revive(engine, home.home, id);
      expect([kill, sandbox.notEnforced]).toEqual([kill, []]);
      {
        using puppet = new Puppet(sandbox);
        const found = await puppet.run('open("/workspace/word").read() if os.path.exists("/workspace/word") else None');
        expect([kill, found]).toEqual([kill, mode === "keep" ? word : found === word ? word : null]);
      }
      if (next() < 0.3) await engine.reset(id).then(() => (mode === "keep" ? restore(engine, id) : undefined));
      else await engine.stop(id);
    }
    await using engine = await openEngine(name, home);
    await engine.destroyKept(id);
    expect(findLeaks(home.home)).toEqual([]);
  });
});

/** What a reset took is written again. */
async function restore(engine: Engine, id: string): Promise<void> {
  {
    using puppet = new Puppet(await engine.start(id));
    expect(await puppet.run('os.listdir("/workspace")')).toEqual(["output"]);
    await puppet.run(`open("/workspace/word", "w").write("${word}")`);
  }
  await engine.stop(id);
}
