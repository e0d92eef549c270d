import { AppError } from "../core/errors.ts";
import { Once } from "../lib/once.ts";
import type { Turn } from "../lib/turn.ts";
import type { Processes } from "./processes.ts";
import type { SandboxEnd, SandboxParts } from "./sandbox-parts.ts";
import type { SandboxWire } from "./sandbox-wire.ts";

interface EndingParts extends Pick<SandboxParts, "engine" | "chronicle" | "afterLeave"> {
  id: string;
  kept: boolean;
  wire: SandboxWire;
  processes: Processes;
  /** What is under way is waited for, except by a destroy. */
  turn: Turn;
}

/** How a handle on a sandbox ends: with the sandbox, with what runs in it, or alone. */
export class SandboxEnding {
  readonly #parts: EndingParts;
  readonly #destroyed = new Once<void>();
  readonly #stopped = new Once<void>();
  readonly #leftGate = Promise.withResolvers<void>();
  #asked = false;

  constructor(parts: EndingParts) {
    this.#parts = parts;
  }

  get asked(): boolean {
    return this.#asked;
  }

  get stopped(): boolean {
    return this.#stopped.begun;
  }

  get left(): Promise<void> {
    return this.#leftGate.promise;
  }

  destroy(): Promise<void> {
    const { id, engine } = this.#parts;
    return this.#destroyed.get(async () => {
      this.#asked = true;
      await this.#close("destroyed");
      await (this.stopped ? engine.destroyKept(id) : engine.destroy(id));
      await this.#leave("sandbox.destroyed");
    });
  }

  /** `end` ends the boundary of a kept sandbox and leaves what the engine keeps of it. */
  stop(end: () => Promise<void>): Promise<void> {
    this.#checkKept("an ephemeral sandbox cannot be stopped");
    return this.#stopped.get(async () => {
      this.#asked = true;
      await this.#parts.turn.settled;
      await this.#close("it was stopped");
      await end();
      await this.#leave("sandbox.stopped");
    });
  }

  async detach(): Promise<void> {
    this.#checkKept("an ephemeral sandbox ends with its owner");
    if (this.#asked) return;
    this.#asked = true;
    const { id, engine, turn } = this.#parts;
    await turn.settled;
    await this.#close("detached");
    await engine.detach(id);
    await this.#leave("sandbox.detached");
  }

  #checkKept(otherwise: string): void {
    if (!this.#parts.kept) throw new AppError("invalid", otherwise, { hint: "keep: true" });
  }

  async #close(reason: string): Promise<void> {
    this.#parts.wire.close(reason);
    await this.#parts.processes.leave();
  }

  /** Whoever counts this handle lets go of it first: what comes after may wait for all that are counted. */
  async #leave(how: SandboxEnd): Promise<void> {
    const { id, chronicle } = this.#parts;
    this.#leftGate.resolve();
    await this.left;
    await chronicle.left(id, how);
    await this.#parts.afterLeave?.();
  }
}
