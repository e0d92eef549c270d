import { type Command, contextOptionsOf } from "../core/command.ts";
import { type ContextLanguage, type ContextOptions, contextLanguages } from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import { contextLimits } from "../core/limits.ts";
import { checkBackground } from "../core/process.ts";
import type { Adopt } from "../core/wire.ts";
import { CodeContext, type ContextState } from "./code-context.ts";
import { readContextOptions } from "./read-context-options.ts";
import type { Sandbox } from "./sandbox.ts";

/** The code contexts of one sandbox. */
export class Contexts {
  readonly #sandbox: Sandbox;
  readonly #contexts = new Map<string, CodeContext>();
  readonly #shared = new Map<ContextLanguage, Promise<CodeContext>>();
  readonly #inherited: Map<number, ContextState>;
  #next = 1;

  /** With those of the sandbox whose copy this is: their streams come by `adopt`. */
  constructor(sandbox: Sandbox, inherited: readonly ContextState[] = []) {
    this.#sandbox = sandbox;
    this.#inherited = new Map(inherited.map((state) => [state.kernel.stream, state]));
    for (const { id } of inherited) this.#next = Math.max(this.#next, Number(/\d+$/.exec(id)?.[0] ?? 0) + 1);
  }

  readonly adopt: Adopt = (state, stream) => {
    const inherited = this.#inherited.get(state.id);
    if (inherited === undefined) return undefined;
    const { id, shared, kernel } = inherited;
    const context = new CodeContext(id, this.#sandbox, kernel.options, () => this.#contexts.delete(id));
    this.#contexts.set(id, context);
    if (shared) this.#shared.set(kernel.options.language, Promise.resolve(context));
    return context.adopt(inherited, { stream, state }).listener;
  };

  /** What copies of this sandbox go on from. */
  async states(): Promise<ContextState[]> {
    const shared = new Set(await Promise.all([...this.#shared.values()].map((made) => made.catch(() => undefined))));
    return this.list().flatMap((context) => context.state(shared.has(context)) ?? []);
  }

  async create(options: ContextOptions): Promise<CodeContext> {
    return this.createFor(readContextOptions(options));
  }

  async createFor(command: Command): Promise<CodeContext> {
    const options = contextOptionsOf(command);
    if (!contextLanguages.includes(options.language))
      throw new AppError("invalid", `unsupported context language '${options.language}'`, {
        hint: `languages: ${contextLanguages.join(", ")}`,
      });
    checkBackground(this.#sandbox.background, "code contexts: they live on between runs");
    if (this.#contexts.size >= contextLimits.contexts)
      throw new AppError("limit_exceeded", `too many contexts in the sandbox (limit: ${contextLimits.contexts})`);
    const id = `${options.language}-${this.#next++}`;
    const context = new CodeContext(id, this.#sandbox, options, () => this.#contexts.delete(id));
    this.#contexts.set(id, context);
    try {
      await context.start();
    } catch (error) {
      this.#contexts.delete(id);
      throw error;
    }
    return context;
  }

  /** The one of a language for whoever names none; made at its first use, and anew when it has ended. */
  async shared(language: ContextLanguage): Promise<{ context: CodeContext; isNew: boolean }> {
    const found = await this.findShared(language);
    if (found !== undefined) return { context: found, isNew: false };
    const another = this.#shared.get(language); // two at once make one
    const made = another ?? this.create({ language });
    this.#shared.set(language, made);
    const drop = () => void (this.#shared.get(language) === made && this.#shared.delete(language));
    if (another === undefined) made.catch(drop);
    return { context: await made, isNew: true };
  }

  /** Undefined when there is none that lives. */
  async findShared(language: ContextLanguage): Promise<CodeContext | undefined> {
    const made = this.#shared.get(language);
    if (made === undefined) return undefined;
    const context = await made.catch(() => undefined);
    if (context !== undefined && context.ended === undefined && this.#contexts.has(context.id)) return context;
    if (this.#shared.get(language) === made) this.#shared.delete(language);
    if (context !== undefined) await context.dispose();
    return undefined;
  }

  /** How many wait for something to run. */
  get idle(): number {
    return this.list().filter((context) => context.idle).length;
  }

  list(): CodeContext[] {
    return [...this.#contexts.values()];
  }

  get(id: string): CodeContext {
    const context = this.#contexts.get(id);
    if (context === undefined) throw new AppError("not_found", `unknown context '${id}'`);
    return context;
  }
}
