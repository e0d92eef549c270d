import type { Audit } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import type { News } from "../core/journal.ts";
import type { Principal } from "../core/principal.ts";
import { isAllowed } from "../core/scope.ts";
import type { Clock } from "../lib/clock.ts";
import { auditLimits } from "../store/limits.ts";

export interface RoomParts {
  audit: Pick<Audit, "bytes" | "shrink">;
  clock: Clock;
  /** Maximum size of one namespace's rows. */
  namespaceBytes: number;
  record: (news: News) => Promise<void>;
  onError: (error: unknown) => void;
}

/** A namespace that has used most of its part of the log. */
interface Crowded {
  isFull: boolean;
  isFullTold: boolean;
  isShrinking: boolean;
  nextTryMs: number;
}

type Who = Pick<Principal, "namespace"> & Partial<Pick<Principal, "role" | "scopes">>;

/**
 * Holds each namespace to its part of the audit log (S108): says so when that fills up, makes room of its oldest rows, and
 * refuses further work where none are old enough.
 */
export class AuditRoom implements AsyncDisposable {
  readonly #parts: RoomParts;
  readonly #crowded = new Map<string, Crowded>();
  #work: Promise<void> = Promise.resolve();

  constructor(parts: RoomParts) {
    this.#parts = parts;
  }

  require(who: Who): void {
    const { namespace, role } = who;
    if (this.#crowded.get(namespace)?.isFull !== true) return;
    this.look(namespace);
    if (this.#crowded.get(namespace)?.isFull !== true) return;
    const isOperator = role !== undefined && isAllowed({ ...who, role }, "operate");
    if (namespace === "system" || isOperator) return;
    const { namespaceBytes } = this.#parts;
    throw new AppError("limit_exceeded", `the audit log of namespace ${namespace} is full: ${namespaceBytes} bytes`, {
      hint: "entries of the last day are kept: try again later, or raise audit_namespace_mb; deleting still works",
      retryAfterMs: auditLimits.roomRetryMs,
    });
  }

  /** Call it when rows were added. */
  look(namespace: string): void {
    const { audit, clock, namespaceBytes } = this.#parts;
    const bytes = audit.bytes(namespace);
    if (bytes < namespaceBytes * auditLimits.alarmPart) return void this.#crowded.delete(namespace);
    let crowded = this.#crowded.get(namespace);
    if (crowded === undefined) {
      crowded = { isFull: false, isFullTold: false, isShrinking: false, nextTryMs: 0 };
      this.#crowded.set(namespace, crowded);
      this.#tell("audit.filling", namespace).catch(this.#parts.onError);
    }
    if (bytes < namespaceBytes) crowded.isFull = false;
    else if (!crowded.isShrinking && clock.monotonicMs() >= crowded.nextTryMs) this.#makeRoom(namespace, crowded);
  }

  #makeRoom(namespace: string, crowded: Crowded): void {
    crowded.isShrinking = true;
    this.#work = this.#work.then(() => this.#shrink(namespace, crowded)).catch(this.#parts.onError);
  }

  async #shrink(namespace: string, crowded: Crowded): Promise<void> {
    const { audit, clock, namespaceBytes } = this.#parts;
    const kept = namespaceBytes * auditLimits.keptPart;
    try {
      let rows: number;
      // Others are added meanwhile.
      do rows = await audit.shrink(namespace, { bytes: kept, beforeMs: clock.wallMs() - auditLimits.leastAgeMs });
      while (rows > 0 && audit.bytes(namespace) >= namespaceBytes);
    } finally {
      const bytes = audit.bytes(namespace);
      crowded.isShrinking = false;
      crowded.isFull = bytes >= namespaceBytes;
      if (crowded.isFull) crowded.nextTryMs = clock.monotonicMs() + auditLimits.roomRetryMs;
      else crowded.isFullTold = crowded.isFullTold && bytes > kept;
    }
    if (!crowded.isFull || crowded.isFullTold) return;
    crowded.isFullTold = true;
    await this.#tell("audit.full", namespace);
  }

  #tell(type: "audit.filling" | "audit.full", namespace: string): Promise<void> {
    const { audit, namespaceBytes, record } = this.#parts;
    const data = { bytes: audit.bytes(namespace), limit_bytes: namespaceBytes };
    return record({ type, by: "system", namespace, data });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#work;
  }
}
