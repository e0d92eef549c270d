import type { EngineName } from "../../core/engine.ts";
import { AppError, messageOf } from "../../core/errors.ts";
import type { ReadyTemplate, TemplateMemory } from "../../core/template.ts";
import { templateLimits } from "../../core/template-limits.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Seed } from "../seed.ts";
import { runWarmUp } from "../warm-up.ts";
import type { SandboxMaker } from "./maker.ts";
import { rootOf } from "./member.ts";
import type { Removals } from "./removals.ts";
import type { Slots } from "./slots.ts";

/** The one that saves memory. */
const engine: EngineName = "gvisor";

interface SeedParts {
  maker: SandboxMaker;
  removals: Removals;
  starts: Slots;
  onError: (error: unknown) => void;
}

/** A seed, and the stopped sandbox that holds its files: nobody's, so that the next daemon removes what this one leaves. */
interface Planted {
  seed: Seed;
  sandboxId: string;
}

/** The memory of templates after their warm-up, made at the first use and held as long as there is room. */
export class Seeds {
  readonly #parts: SeedParts;
  /** By template, the one that was used least lately first. A sentence: why there can be none. */
  readonly #held = new Map<string, Promise<Planted | string>>();
  #closed = false;

  constructor(parts: SeedParts) {
    this.#parts = parts;
  }

  /** A sandbox with that memory; or why it cannot be had. */
  async grow(template: ReadyTemplate): Promise<Sandbox | string> {
    for (let attempt = 1; ; attempt++) {
      const planted = await this.plant(template);
      if (typeof planted === "string") return planted;
      try {
        const { maker, starts } = this.#parts;
        return await starts.with(() => maker.copies.grow(engine, planted.seed, rootOf(template.image)));
      } catch (error) {
        // The engine was started anew, or the seed had to go meanwhile.
        if (attempt > 1 || !(error instanceof AppError && error.code === "not_found")) throw error;
        await this.drop(template.id);
      }
    }
  }

  /** Whoever asks while it is made gets the same. A warm-up that fails rejects. */
  plant(template: ReadyTemplate, signal?: AbortSignal): Promise<Planted | string> {
    const { id } = template;
    const why = this.#whyNone(template);
    if (why !== null) return Promise.resolve(why);
    const planting = this.#held.get(id) ?? this.#plant(template, signal);
    this.#held.delete(id);
    this.#held.set(id, planting);
    planting.catch(() => this.#held.get(id) === planting && this.#held.delete(id));
    this.#makeRoom();
    return planting;
  }

  /** As plant; and where there is none its warm-up is run all the same, to see whether it works. */
  async prime(template: ReadyTemplate, signal: AbortSignal): Promise<TemplateMemory> {
    const why = this.#whyNone(template);
    const planted = why ?? (await this.plant(template, signal));
    if (typeof planted !== "string") return { memory: true, why: null };
    if (why !== null) await this.#discard(await this.#warm(template, signal));
    return { memory: false, why: planted };
  }

  #whyNone({ engine: name, warmUp, without }: ReadyTemplate): string | null {
    if (without !== null) return without;
    if (warmUp === null) return "it has no warm-up";
    if (name !== engine) return `the engine ${name} cannot save memory`;
    return this.#closed ? "the daemon ends" : null;
  }

  #makeRoom(): void {
    for (const [id] of this.#held) {
      if (this.#held.size <= templateLimits.seeds) return;
      void this.drop(id).catch(this.#parts.onError);
    }
  }

  async #plant(template: ReadyTemplate, signal: AbortSignal | undefined): Promise<Planted | string> {
    const sandbox = await this.#warm(template, signal);
    try {
      const seed = await this.#parts.maker.copies.save(sandbox).catch(whyUnsaveable);
      if (typeof seed !== "string") {
        await sandbox.stop();
        return { seed, sandboxId: sandbox.id };
      }
      await this.#discard(sandbox);
      return seed;
    } catch (error) {
      await this.#discard(sandbox).catch(this.#parts.onError);
      throw error;
    }
  }

  /** A sandbox that is nobody's, in which the warm-up has run. */
  async #warm(template: ReadyTemplate, signal: AbortSignal | undefined): Promise<Sandbox> {
    const { limits, engine: name, image, layerId: base, env, warmUp } = template;
    const { maker, starts, onError } = this.#parts;
    const options = {
      engine: name,
      limits,
      warm: "first-use",
      keep: true,
      fleet: true,
      base,
      ...rootOf(image),
    } as const;
    const sandbox = await starts.with(() => maker.createSandbox(options));
    try {
      sandbox.setEnvironment(env);
      if (warmUp !== null) await runWarmUp(sandbox, warmUp, signal);
      return sandbox;
    } catch (error) {
      await this.#discard(sandbox).catch(onError);
      throw error;
    }
  }

  #discard(sandbox: Sandbox): Promise<void> {
    return this.#parts.removals.remove(sandbox.id, sandbox);
  }

  async drop(templateId: string): Promise<void> {
    const planting = this.#held.get(templateId);
    this.#held.delete(templateId);
    const planted = await planting?.catch(() => undefined);
    if (planted === undefined || typeof planted === "string") return;
    const { maker, removals } = this.#parts;
    await maker.copies.drop(engine, planted.seed).catch(this.#parts.onError);
    await removals.remove(planted.sandboxId);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#held.keys()].map((id) => this.drop(id).catch(this.#parts.onError)));
  }
}

/** What runs there now, or this machine, does not let it be saved. */
function whyUnsaveable(error: unknown): string {
  if (error instanceof AppError && (error.code === "unsupported" || error.details?.unsaveable === true))
    return messageOf(error);
  throw error;
}
