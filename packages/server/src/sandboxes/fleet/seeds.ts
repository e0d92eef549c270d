import type { EngineName } from "../../core/engine.ts";
import { AppError, messageOf } from "../../core/errors.ts";
import type { ReadyTemplate, TemplateMemory } from "../../core/template.ts";
import { Users } from "../../lib/users.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Seed } from "../seed.ts";
import { runWarmUp } from "../warm-up.ts";
import type { KeptSeeds } from "./kept-seeds.ts";
import type { SandboxMaker } from "./maker.ts";
import { rootOf } from "./member.ts";
import type { Removals } from "./removals.ts";
import type { Slots } from "./slots.ts";

/** The one that saves memory. */
const engine: EngineName = "gvisor";

interface SeedParts {
  maker: Pick<SandboxMaker, "createSandbox" | "copies">;
  removals: Pick<Removals, "remove">;
  starts: Slots;
  kept: Pick<KeptSeeds, "keep" | "load" | "remove">;
  /** Held in memory at a time. */
  room: number;
  onError: (error: unknown) => void;
}

interface Planted {
  seed: Seed;
  /** Sandboxes that begin with it. */
  growing: Users;
  /** Whether one has. */
  isProven: boolean;
}

/** The memory of templates after their warm-up: kept sealed, and held in memory from its first use on as long as there is room. */
export class Seeds {
  readonly #parts: SeedParts;
  /** By template, the one that was used least lately first. A sentence: why there can be none. */
  readonly #held = new Map<string, Promise<Planted | string>>();
  /** Those that are on their way out of memory. */
  readonly #leaving = new Map<string, Promise<void>>();
  #closed = false;

  constructor(parts: SeedParts) {
    this.#parts = parts;
  }

  /** A sandbox with that memory; or why it cannot be had. */
  async grow(template: ReadyTemplate): Promise<Sandbox | string> {
    for (let attempt = 1; ; attempt++) {
      const planting = this.plant(template);
      const planted = await planting;
      if (typeof planted === "string") return planted;
      try {
        return await planted.growing.with(() => this.#grow(template, planted));
      } catch (error) {
        if (attempt > 2 || mayPass(error)) throw error;
        // The engine was started anew, or the seed had to go meanwhile; or what was kept is of no use any more.
        if (this.#held.get(template.id) !== planting) continue;
        if (error instanceof AppError && error.code === "not_found") await this.#release(template.id);
        else if (planted.isProven) throw error;
        else await this.#replace(template.id, error);
      }
    }
  }

  async #grow({ image }: ReadyTemplate, planted: Planted): Promise<Sandbox> {
    const { maker, starts } = this.#parts;
    const sandbox = await starts.with(() => maker.copies.grow(engine, planted.seed, rootOf(image)));
    planted.isProven = true;
    return sandbox;
  }

  async #replace(templateId: string, error: unknown): Promise<void> {
    this.#parts.onError(error);
    await this.drop(templateId);
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
    return this.#closed ? "the daemon is shutting down" : null;
  }

  #makeRoom(): void {
    for (const [id] of this.#held) {
      if (this.#held.size <= this.#parts.room) return;
      void this.#release(id).catch(this.#parts.onError);
    }
  }

  async #plant(template: ReadyTemplate, signal: AbortSignal | undefined): Promise<Planted | string> {
    const { id } = template;
    await this.#leaving.get(id);
    const kept = await this.#load(id);
    if (kept !== undefined) return kept;
    const why = await this.#make(template, signal);
    if (why !== null) return why;
    const made = await this.#load(id);
    if (made === undefined) throw new AppError("unavailable", "the saved memory of the warm-up could not be restored");
    return made;
  }

  /** What cannot be opened, or was made with other programs than are here now, is removed. */
  async #load(templateId: string): Promise<Planted | undefined> {
    const { kept, onError } = this.#parts;
    try {
      const seed = await kept.load(templateId);
      return seed === undefined ? undefined : { seed, growing: new Users(), isProven: false };
    } catch (error) {
      if (mayPass(error)) throw error;
      onError(error);
      await kept.remove(templateId);
      return undefined;
    }
  }

  async #make(template: ReadyTemplate, signal: AbortSignal | undefined): Promise<string | null> {
    const sandbox = await this.#warm(template, signal);
    try {
      return await this.#parts.kept.keep(template.id, sandbox).then(() => null, whyUnsaveable);
    } finally {
      await this.#discard(sandbox).catch(this.#parts.onError);
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

  /** Out of memory; what is kept stays. */
  #release(templateId: string): Promise<void> {
    const planting = this.#held.get(templateId);
    if (planting === undefined) return this.#leaving.get(templateId) ?? Promise.resolve();
    this.#held.delete(templateId);
    const leaving = this.#unload(planting).finally(() => {
      if (this.#leaving.get(templateId) === leaving) this.#leaving.delete(templateId);
    });
    this.#leaving.set(templateId, leaving);
    return leaving;
  }

  /** Whoever begins with it does so first. */
  async #unload(planting: Promise<Planted | string>): Promise<void> {
    const planted = await planting.catch(() => undefined);
    if (planted === undefined || typeof planted === "string") return;
    await planted.growing.none();
    await this.#parts.maker.copies.unload(engine, planted.seed).catch(this.#parts.onError);
  }

  async drop(templateId: string): Promise<void> {
    await this.#release(templateId);
    await this.#parts.kept.remove(templateId);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#held.keys()].map((id) => this.#release(id)));
    await Promise.all(this.#leaving.values());
  }
}

/** The machine has no room for it now, or somebody else has it. */
function mayPass(error: unknown): boolean {
  return error instanceof AppError && (error.code === "limit_exceeded" || error.code === "conflict");
}

/** What runs there now, or this machine, does not let it be saved. */
function whyUnsaveable(error: unknown): string {
  if (error instanceof AppError && (error.code === "unsupported" || error.details?.unsaveable === true))
    return messageOf(error);
  throw error;
}
