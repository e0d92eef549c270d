import { LOG_LEVEL_META_KEY, type LoggingLevel, type ServerContext } from "@modelcontextprotocol/server";
import type { EventReader, Journal } from "../core/journal.ts";
import { toolLimits } from "../tools/limits.ts";
import { toTrace } from "./traces.ts";

/** RFC 5424, least first. */
const severities: readonly LoggingLevel[] = [
  ...(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const),
];
const logger = "caisson";

interface CallLogParts {
  journal: Pick<Journal, "read">;
  namespace: string;
  /** The sandboxes that the call works in. */
  used: ReadonlySet<string>;
  /** What a client up to 2025-11-25 asked for. */
  level: LoggingLevel | undefined;
}

/** What happens in a call's sandboxes, as log messages on the call's own stream. For clients that asked for a level alone. */
export class CallLog {
  readonly #parts: Omit<CallLogParts, "level">;
  readonly #reader: EventReader;
  readonly #reading: Promise<void>;
  readonly #log: ServerContext["mcpReq"]["log"];
  readonly #least: number;
  #left: number = toolLimits.logMessages;
  #sent: Promise<void> = Promise.resolve();

  private constructor(parts: CallLogParts & { level: LoggingLevel }, { mcpReq }: ServerContext) {
    this.#parts = parts;
    this.#log = mcpReq.log;
    this.#least = severities.indexOf(parts.level);
    this.#reader = parts.journal.read({ namespace: parts.namespace });
    this.#reading = this.#follow();
  }

  static of(parts: CallLogParts, context: ServerContext): CallLog | undefined {
    const { envelope } = context.mcpReq;
    const level =
      envelope === undefined
        ? parts.level
        : ((envelope as Record<string, unknown>)[LOG_LEVEL_META_KEY] as LoggingLevel);
    if (level === undefined) return undefined;
    try {
      return new CallLog({ ...parts, level }, context);
    } catch {
      return undefined; // too many follow what happens: no reason to fail a call
    }
  }

  /** Resolves once all that has happened is on its way: before the result. */
  async end(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // the reader, which waits for nobody, has it all by then
    this.#reader[Symbol.dispose]();
    await this.#reading;
    await this.#sent;
  }

  async #follow(): Promise<void> {
    for await (const event of this.#reader) {
      if (event.type === "events.lag" || event.sandbox_id === null || !this.#parts.used.has(event.sandbox_id)) continue;
      const { level, ...data } = toTrace(event);
      if (this.#left === 0 || severities.indexOf(level) < this.#least) continue;
      this.#left -= 1;
      // A client that is gone has its call ended by whoever sees that.
      this.#sent = this.#sent.then(() => this.#log(level, data, logger)).catch(() => undefined);
    }
  }
}
