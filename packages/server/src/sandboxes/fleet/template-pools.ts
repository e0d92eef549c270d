import { freemem } from "node:os";
import { isDeepStrictEqual } from "node:util";
import type { Command } from "../../core/command.ts";
import { AppError } from "../../core/errors.ts";
import { hasLimits } from "../../core/request.ts";
import type { ReadyTemplate, TemplateMemory } from "../../core/template.ts";
import { templateLimits } from "../../core/template-limits.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Pools, Taken } from "./pools.ts";
import type { ResolvedRequest } from "./resolve-defaults.ts";
import type { Started } from "./template-start.ts";

interface TemplatePoolParts {
  pools: Pick<Pools, "add" | "get" | "remove">;
  make: (template: ReadyTemplate) => Promise<Started>;
  warmUpOf: (templateId: string) => Command | null;
  onError: (error: unknown) => void;
}

const warm = "first-use";

/** A sandbox in waiting for each of the few templates that were asked for last: it has begun, and its warm-up is over. */
export class TemplatePools {
  readonly #parts: TemplatePoolParts;
  readonly #origins = new WeakMap<Sandbox, TemplateMemory>();
  /** By template, the one that was asked for least lately first: what ends its pool. */
  readonly #idle = new Map<string, NodeJS.Timeout>();

  constructor(parts: TemplatePoolParts) {
    this.#parts = parts;
  }

  /** Of one that differs in what the warm-up may have looked at there is none. */
  async take(resolved: ResolvedRequest, template: ReadyTemplate, hasSecrets: boolean): Promise<Taken> {
    const { env, limits, outputFolder, warm: wanted } = resolved;
    const pool = this.#parts.pools.get(nameOf(template.id));
    if (pool === undefined) return { cold: "there is no pool" };
    if (outputFolder !== null || wanted !== warm || !isDeepStrictEqual(env, template.env))
      return { cold: "it asks for what those in the pool have not" };
    this.#touch(template.id);
    const mustAsk = hasSecrets || !hasLimits(limits, template.limits);
    const taken = pool.isComing ? await pool.takeComing(mustAsk) : pool.take(mustAsk);
    return taken ?? { cold: "the pool is empty" };
  }

  /** How one that was taken began. */
  originOf(sandbox: Sandbox): TemplateMemory {
    const origin = this.#origins.get(sandbox);
    if (origin === undefined) throw new AppError("internal", `sandbox ${sandbox.id} was in no pool of a template`);
    return origin;
  }

  /** Of one that was asked for, and will be again. Without a warm-up there is nothing to wait for. */
  open(template: ReadyTemplate): void {
    const { id, image, engine, limits } = template;
    const { pools, warmUpOf } = this.#parts;
    if (warmUpOf(id) === null || limits.memoryBytes > freemem() / templateLimits.poolShare) return;
    // Whoever operates any namespace sees the pools: the template's own name is its namespace's.
    const kind = { image: { ...image, name: nameOf(id) }, engine, size: 1, limits, warm } as const;
    const pool = pools.add(nameOf(id), { ...kind, make: (begin) => this.#make(template, begin) });
    if (pool === undefined) return;
    this.#touch(id);
    pool.fillSoon();
    for (const [oldest] of this.#idle) if (this.#idle.size > templateLimits.pools) this.#closeSoon(oldest);
  }

  async #make(template: ReadyTemplate, begin: () => void): Promise<Sandbox> {
    begin();
    const { sandbox, memory, why } = await this.#parts.make(template);
    this.#origins.set(sandbox, { memory, why });
    return sandbox;
  }

  #touch(templateId: string): void {
    clearTimeout(this.#idle.get(templateId));
    this.#idle.delete(templateId);
    const end = () => this.#closeSoon(templateId);
    this.#idle.set(templateId, setTimeout(end, templateLimits.poolIdleMs).unref());
  }

  #closeSoon(templateId: string): void {
    void this.close(templateId).catch(this.#parts.onError);
  }

  async close(templateId: string): Promise<void> {
    clearTimeout(this.#idle.get(templateId));
    this.#idle.delete(templateId);
    await this.#parts.pools.remove(nameOf(templateId));
  }
}

const nameOf = (templateId: string) => `template ${templateId}`;
