import type { SandboxRecord } from "../../core/sandbox-record.ts";
import type { Clock } from "../../lib/clock.ts";

/** When a sandbox became idle and when its life ends, on the clock that does not jump. */
export interface Clocks {
  idleSinceMs: number;
  endsMs: number;
}

type RecordTimes = Pick<SandboxRecord, "createdAtMs" | "lastUsedAtMs" | "expiresAtMs" | "pausedAtMs">;

/**
 * The wall clock is asked once, when a daemon takes a record up; from then on its jumps move nothing. A clock that was set
 * back lets no sandbox live longer than its lifetime.
 */
export function clocksOf(record: RecordTimes, clock: Clock): Clocks {
  const wall = clock.wallMs();
  const now = clock.monotonicMs();
  const idleMs = Math.max(0, (record.pausedAtMs ?? wall) - record.lastUsedAtMs);
  const leftMs = Math.min(record.expiresAtMs - wall, record.expiresAtMs - record.createdAtMs);
  return { idleSinceMs: now - idleMs, endsMs: now + leftMs };
}

export interface Timed extends Clocks {
  status: SandboxRecord["status"];
  idleTimeoutMs: number;
  uses: number;
}

/** What its timers ask for now. A sandbox in use is not idle, nor is one that stands still. */
export function dueOf(timed: Timed, nowMs: number): "stop" | "destroy" | undefined {
  if (nowMs >= timed.endsMs) return "destroy";
  if (timed.status !== "running" || timed.uses > 0) return undefined;
  return nowMs - timed.idleSinceMs >= timed.idleTimeoutMs ? "stop" : undefined;
}
