import type { ToolCall } from "./tool.ts";

/** A label of a session whose runs go on when their client goes away. Without it they end. */
export const onDisconnect = { label: "session.on_disconnect", keep: "keep" } as const;

/** How long what was started for a call may go on: until it is cancelled, or its client is gone and the session does not say that it stays. */
export class Lifeline {
  readonly #call: Pick<ToolCall, "caller"> & { parts: Pick<ToolCall["parts"], "fleet"> };
  readonly #controller = new AbortController();
  readonly #used = new Set<string>();

  constructor(call: Pick<ToolCall, "caller"> & { parts: Pick<ToolCall["parts"], "fleet"> }) {
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get used(): ReadonlySet<string> {
    return this.#used;
  }

  /** Told of each sandbox that the call works in. */
  readonly using = (sandboxId: string): void => void this.#used.add(sandboxId);

  cancel(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** The client is gone. Resolves when it is settled what that means. */
  async lose(reason?: unknown): Promise<void> {
    if (!(await this.#isKept())) this.cancel(reason);
  }

  async #isKept(): Promise<boolean> {
    const { caller, parts } = this.#call;
    if (this.#used.size === 0) return false;
    const records = await Promise.all([...this.#used].map((id) => parts.fleet.get(caller, id))).catch(() => []);
    return records.length > 0 && records.every(({ labels }) => labels[onDisconnect.label] === onDisconnect.keep);
  }
}
