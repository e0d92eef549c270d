import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import type { Journal } from "../core/journal.ts";
import type { PortRecords, PortVisibility, SharedPort } from "../core/port.ts";
import type { Caller } from "../core/principal.ts";
import { portLimits } from "../http/limits.ts";

interface SharedPortsParts {
  records: PortRecords;
  journal: Journal;
  fleet: Pick<Fleet<unknown>, "get" | "namespaceOf">;
  onError: (error: unknown) => void;
}

/** Says who may reach which port. Every other port is private. */
export class SharedPorts implements Disposable {
  readonly #parts: SharedPortsParts;
  readonly #shared = new Map<string, Map<number, PortVisibility>>();
  readonly #events: Disposable;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(parts: SharedPortsParts, shared: readonly SharedPort[]) {
    this.#parts = parts;
    for (const port of shared) this.#note(port);
    const reader = parts.journal.read({ types: ["sandbox.destroyed"] });
    const follow = async () => {
      for await (const event of reader)
        for (const id of event.type === "events.lag" ? [...this.#shared.keys()] : [event.sandbox_id ?? ""])
          await this.#dropGone(id).catch(parts.onError);
    };
    void follow();
    this.#events = reader;
  }

  /** After the fleet knows its sandboxes: what is kept of others goes. */
  static async open(parts: SharedPortsParts): Promise<SharedPorts> {
    const opened = new SharedPorts(parts, await parts.records.all());
    for (const id of [...opened.#shared.keys()]) await opened.#dropGone(id);
    return opened;
  }

  visibilityOf(sandboxId: string, port: number): PortVisibility {
    return this.#shared.get(sandboxId)?.get(port) ?? "private";
  }

  async list(caller: Caller, sandboxId: string): Promise<SharedPort[]> {
    await this.#parts.fleet.get(caller, sandboxId);
    const shared = this.#shared.get(sandboxId) ?? new Map<number, PortVisibility>();
    return [...shared].map(([port, visibility]) => ({ sandboxId, port, visibility }));
  }

  /** In the log and on the disk before it holds. One change after the other. */
  set(caller: Caller, port: SharedPort): Promise<void> {
    const done = this.#last.then(() => this.#set(caller, port));
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #set(caller: Caller, shared: SharedPort): Promise<void> {
    const { records, journal, fleet } = this.#parts;
    const { sandboxId, port, visibility } = shared;
    await fleet.get(caller, sandboxId);
    const known = this.#shared.get(sandboxId);
    if (visibility !== "private" && known?.has(port) !== true && (known?.size ?? 0) >= portLimits.shared)
      throw new AppError(
        "limit_exceeded",
        `too many shared ports of sandbox ${sandboxId} (limit: ${portLimits.shared})`,
      );
    await journal.record({ type: "port.shared", by: caller, sandboxId, data: { port, visibility } }, (within) =>
      records.put(shared, within),
    );
    this.#note(shared);
  }

  #note({ sandboxId, port, visibility }: SharedPort): void {
    const known = this.#shared.get(sandboxId) ?? new Map<number, PortVisibility>();
    if (visibility === "private") known.delete(port);
    else known.set(port, visibility);
    if (known.size > 0) this.#shared.set(sandboxId, known);
    else this.#shared.delete(sandboxId);
  }

  async #dropGone(sandboxId: string): Promise<void> {
    if (this.#parts.fleet.namespaceOf(sandboxId) !== undefined || !this.#shared.delete(sandboxId)) return;
    await this.#parts.records.deleteOf(sandboxId);
  }

  [Symbol.dispose](): void {
    this.#events[Symbol.dispose]();
  }
}
