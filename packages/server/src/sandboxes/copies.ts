import type { ForkOptions, Rooted } from "../core/app-options.ts";
import type { CreatedSandbox, Engine, EngineName } from "../core/engine.ts";
import { AppError } from "../core/errors.ts";
import { forkLimits } from "../core/fork-limits.ts";
import { checkRange } from "../core/size.ts";
import type { ContextState } from "./code-context.ts";
import { forkSandbox } from "./fork.ts";
import { type KeptSandbox, keepCheckpoint } from "./keep-checkpoint.ts";
import { makeCopy } from "./make-copy.ts";
import { runsInBackground } from "./runs-in-background.ts";
import { Sandbox } from "./sandbox.ts";
import type { SandboxParts } from "./sandbox-parts.ts";
import { growSeed, type Seed } from "./seed.ts";

interface CopiesParts {
  open: (engine: EngineName) => Promise<Engine>;
  partsOf: (engine: Engine, rooted: Rooted) => Promise<SandboxParts>;
  /** It is one of this process's from then on. */
  own: (sandbox: Sandbox) => Sandbox;
  /** Whether programs may listen. */
  listeners: boolean;
}

/** Where what a checkpoint needs lies beside the engine: the key that seals it, and what its sandbox's owner knew. */
export interface CheckpointStorage {
  key: Buffer;
  folder: string;
}

/** Sandboxes that go on from the memory of others. */
export class Copies {
  readonly #parts: CopiesParts;

  constructor(parts: CopiesParts) {
    this.#parts = parts;
  }

  /** All of them or none. */
  async fork(
    original: Sandbox,
    { count = 1, atOnce = forkLimits.atOnce.default, ...rooted }: ForkOptions = {},
  ): Promise<Sandbox[]> {
    checkRange(count, forkLimits.copies, "count", String);
    checkRange(atOnce, forkLimits.atOnce, "atOnce", String);
    if (original.listeners && !this.#parts.listeners)
      throw new AppError("forbidden", "its programs may listen on ports, which policy now refuses", {
        hint: "restart it, or copy only its files",
        details: { unsaveable: true },
      });
    const engine = await this.#parts.open(original.engine);
    const take = this.#taking(engine, rooted, original.redactor.hidden);
    const copies = await forkSandbox(original, { engine, take }, { count, atOnce });
    return copies.map(this.#parts.own);
  }

  /** Brings one that is kept into memory, for any number to go on from; refused where the machine's programs have changed since. */
  async load(name: EngineName, kept: KeptSandbox, { key, folder }: CheckpointStorage): Promise<Seed> {
    const engine = await this.#parts.open(name);
    await engine.loadCheckpoint(kept.checkpoint.id, key, { unchanged: true, ...this.#rights });
    return { ...kept, stage: folder, hidden: [] };
  }

  async grow(name: EngineName, seed: Seed, rooted: Rooted = {}): Promise<Sandbox> {
    const engine = await this.#parts.open(name);
    return this.#parts.own(await growSeed(seed, { engine, take: this.#taking(engine, rooted, seed.hidden) }));
  }

  async unload(name: EngineName, { checkpoint }: Seed): Promise<void> {
    await (await this.#parts.open(name)).forgetCheckpoint(checkpoint.id);
  }

  /** Saves a running sandbox, which goes on, for a later one to go on from. */
  async checkpoint(sandbox: Sandbox, storage: CheckpointStorage): Promise<KeptSandbox> {
    return keepCheckpoint(sandbox, await this.#parts.open(sandbox.engine), storage);
  }

  async restore(
    name: EngineName,
    { checkpoint, contexts }: KeptSandbox,
    { key, folder, ...rooted }: CheckpointStorage & Rooted,
  ): Promise<Sandbox> {
    const engine = await this.#parts.open(name);
    await engine.loadCheckpoint(checkpoint.id, key, this.#rights);
    try {
      const copy = await makeCopy({ engine, take: this.#taking(engine, rooted, []) }, checkpoint.id, folder, contexts);
      return this.#parts.own(copy);
    } finally {
      await engine.forgetCheckpoint(checkpoint.id);
    }
  }

  /** What the engine keeps of it. */
  async remove(name: EngineName, id: string): Promise<void> {
    await (await this.#parts.open(name)).removeCheckpoint(id);
  }

  /** The ids of what the engine keeps. */
  async kept(name: EngineName): Promise<string[]> {
    return (await this.#parts.open(name)).checkpoints();
  }

  /** What is kept may be older than what policy says (S78). */
  get #rights(): { listeners: boolean } {
    return { listeners: this.#parts.listeners };
  }

  #taking(engine: Engine, rooted: Rooted, hide: readonly Buffer[]) {
    return async (created: CreatedSandbox, contexts: readonly ContextState[]) => {
      const parts = await this.#parts.partsOf(engine, rooted);
      parts.redactor.hide(hide);
      return checkRunning(await Sandbox.copy(parts, created, contexts), parts.background);
    };
  }
}

/** What goes on in a copy is there by the policy of now, not of when it was saved (S78). */
async function checkRunning(copy: Sandbox, { allowed }: SandboxParts["background"]): Promise<Sandbox> {
  if (allowed || !runsInBackground(copy)) return copy;
  await copy.destroy();
  throw new AppError("forbidden", "policy refuses background processes, and the saved memory contains one", {
    hint: "the setting policy.background allows them",
    details: { unsaveable: true },
  });
}
