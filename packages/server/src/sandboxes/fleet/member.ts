import { AppError } from "../../core/errors.ts";
import type { News } from "../../core/journal.ts";
import type { LayerId } from "../../core/layer.ts";
import { checkTransition, type SandboxState } from "../../core/lifecycle.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import type { Clock } from "../../lib/clock.ts";
import { Turn } from "../../lib/turn.ts";
import type { Sandbox } from "../sandbox.ts";
import { type Actor, about, type Book, environmentOf } from "./book.ts";
import { type Clocks, clocksOf, dueOf } from "./clocks.ts";

type Changes = Partial<Omit<SandboxRecord, "id" | "namespace">>;

/** A sandbox of somebody: its record, its handle while it runs or is paused, and who uses it. */
export class Member {
  /** Transitions take turns. */
  readonly turn = new Turn();
  record: SandboxRecord;
  sandbox: Sandbox | undefined;
  uses = 0;
  /** A use ended since the record was last stored. */
  touched = false;
  /** A timer acts on it, or did so in vain: not before then again. */
  expireAgainMs = 0;
  /** A template is made in it. */
  readonly forTemplate: boolean;
  readonly #clock: Clock;
  readonly #clocks: Clocks;

  constructor(record: SandboxRecord, clock: Clock, forTemplate = false) {
    this.record = record;
    this.forTemplate = forTemplate;
    this.#clock = clock;
    this.#clocks = clocksOf(record, clock);
  }

  /** The handle, where it can be lent without waiting. */
  get ready(): Sandbox | undefined {
    return this.record.status === "running" && !this.turn.busy ? this.sandbox : undefined;
  }

  due(): "stop" | "destroy" | undefined {
    const { status, idleTimeoutMs, serverId } = this.record;
    if (serverId !== null) return undefined; // its server starts and stops it
    return dueOf({ status, idleTimeoutMs, uses: this.uses, ...this.#clocks }, this.#clock.monotonicMs());
  }

  beginUse(): void {
    this.uses++;
  }

  endUse(): void {
    this.uses--;
    this.touch();
  }

  /** It is in use now, or was until now. */
  touch(): void {
    this.touched = true;
    this.#clocks.idleSinceMs = this.#clock.monotonicMs();
    this.record = { ...this.record, lastUsedAtMs: this.#clock.wallMs() };
  }

  /** What the timers go by, changed by a caller. */
  retime(changes: { idleTimeoutMs?: number; lifetimeMs?: number }): Changes {
    const changed: Changes = {
      ...(changes.idleTimeoutMs === undefined ? {} : { idleTimeoutMs: changes.idleTimeoutMs }),
    };
    if (changes.lifetimeMs !== undefined) {
      changed.expiresAtMs = this.record.createdAtMs + changes.lifetimeMs;
      this.#clocks.endsMs += changed.expiresAtMs - this.record.expiresAtMs;
    }
    return changed;
  }

  /** Into another state: in memory at once, and resolved when store and log have it. */
  async become(book: Book, to: SandboxState, actor: Actor, reason: string | null = null): Promise<void> {
    const from = this.record.status;
    const type = checkTransition(this.record.id, from, to);
    const changes: Changes = {
      status: to,
      failure: to === "failed" ? (reason ?? "unknown") : null,
      ...this.#stillness(from, to),
    };
    this.record = { ...this.record, ...changes };
    const { id, sessionKey } = this.record;
    const who = about(this.record, actor);
    const news: News[] = [{ ...who, type, data: { from, to, ...(reason === null ? {} : { reason }) } }];
    if (to === "running" && (from === "stopped" || from === "failed")) news.push(...environmentOf(this.record, actor));
    if (to === "destroyed" && sessionKey !== null)
      news.push({ ...who, type: "session.killed", data: { session_key: sessionKey } });
    await book.journal.recordAll(news, (within) => book.records.update(id, changes, within));
  }

  /** Paused time does not count as idle: the idle clock goes on from where it stood. */
  #stillness(from: SandboxState, to: SandboxState): Changes {
    const wall = this.#clock.wallMs();
    const now = this.#clock.monotonicMs();
    if (to === "paused") {
      const idleMs = Math.max(0, now - this.#clocks.idleSinceMs);
      return { pausedAtMs: wall, lastUsedAtMs: Math.round(wall - idleMs) };
    }
    if (from === "paused") {
      const { pausedAtMs, lastUsedAtMs } = this.record;
      const idleMs = Math.max(0, (pausedAtMs ?? wall) - lastUsedAtMs);
      this.#clocks.idleSinceMs = now - idleMs;
      return { pausedAtMs: null, lastUsedAtMs: wall - idleMs };
    }
    if (to === "running") {
      this.#clocks.idleSinceMs = now;
      return { lastUsedAtMs: wall };
    }
    return {};
  }

  checkThere(): void {
    if (this.record.status === "destroyed") throw noSuchSandbox(this.record.id);
  }
}

export function noSuchSandbox(id: string): AppError {
  return new AppError("not_found", `unknown sandbox ${JSON.stringify(id).slice(0, 80)}`, {
    hint: "caisson ls lists sandboxes",
  });
}

/** What it was made of, for whoever makes its boundary again. */
export function rootOf({ layerId }: Pick<SandboxRecord, "layerId">): { root?: LayerId } {
  return layerId === null ? {} : { root: layerId };
}
