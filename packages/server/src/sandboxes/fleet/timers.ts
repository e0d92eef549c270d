import type { SandboxRecords } from "../../core/sandbox-record.ts";
import type { Clock } from "../../lib/clock.ts";
import { fleetLimits } from "./limits.ts";
import type { Member } from "./member.ts";
import type { Registry } from "./registry.ts";
import { Slots } from "./slots.ts";

interface TimersParts {
  registry: Registry;
  records: Pick<SandboxRecords, "update">;
  clock: Clock;
  /** Stops or destroys one whose time has come. */
  expire: (member: Member, due: "stop" | "destroy") => Promise<void>;
  /** Tries again what could not be removed. */
  removeDue: () => Promise<void>;
  onError: (error: unknown) => void;
}

/** What time does to sandboxes without anybody asking. */
export class Timers {
  readonly #parts: TimersParts;
  #ticking: NodeJS.Timeout | undefined;
  readonly #expiring = new Slots(fleetLimits.expiringAtOnce);
  #savedMs = 0;

  constructor(parts: TimersParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#ticking = setInterval(() => this.#tick(), fleetLimits.tickMs);
    this.#ticking.unref();
  }

  stop(): void {
    clearInterval(this.#ticking);
  }

  #tick(): void {
    const { registry, clock, removeDue } = this.#parts;
    const now = clock.monotonicMs();
    void removeDue();
    for (const member of registry.all) {
      const due = member.due();
      if (due !== undefined && member.expireAgainMs <= now) void this.#expire(member, due);
    }
    this.#saveUses(now);
  }

  async #expire(member: Member, due: "stop" | "destroy"): Promise<void> {
    const { expire, clock, onError } = this.#parts;
    member.expireAgainMs = Number.POSITIVE_INFINITY;
    try {
      await this.#expiring.with(() => expire(member, due));
      member.expireAgainMs = 0;
    } catch (error) {
      onError(error);
      member.expireAgainMs = clock.monotonicMs() + fleetLimits.removeAgainMs;
    }
  }

  /** Once in a while: a daemon that dies loses no more of its sandboxes' use than that. */
  #saveUses(now: number): void {
    const { registry, onError } = this.#parts;
    if (now - this.#savedMs < fleetLimits.saveUsesMs) return;
    this.#savedMs = now;
    for (const member of registry.all) void this.saveUse(member).catch(onError);
  }

  async saveUse(member: Member): Promise<void> {
    if (member.uses > 0) member.touch();
    if (!member.touched || member.record.status === "destroyed") return;
    member.touched = false;
    const { id, lastUsedAtMs } = member.record;
    await this.#parts.records.update(id, { lastUsedAtMs });
  }
}
