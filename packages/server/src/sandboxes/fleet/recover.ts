import type { Clock } from "../../core/clock.ts";
import type { KeptSandbox } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import { fleetLimits } from "../../core/fleet-limits.ts";
import type { SandboxRecord, SandboxRecords } from "../../core/sandbox-record.ts";
import type { Ledger } from "./ledger.ts";
import { equip, type Lifecycle } from "./lifecycle.ts";
import type { SandboxMaker } from "./maker.ts";
import { Member } from "./member.ts";
import type { Registry } from "./registry.ts";
import type { Removals } from "./removals.ts";
import { eachOf } from "./slots.ts";

export interface RecoverParts {
  maker: SandboxMaker;
  records: SandboxRecords;
  registry: Registry;
  lifecycle: Lifecycle;
  ledger: Ledger;
  removals: Removals;
  clock: Clock;
  onError: (error: unknown) => void;
}

export interface Recovered {
  /** Boundaries of a daemon without a record, that are to be removed: of pools, of creations that never ended, of destructions likewise. */
  strays: string[];
}

/** What a daemon finds: every record gets the state that its boundary is in, whatever moment the last daemon died at. */
export async function recover(parts: RecoverParts): Promise<Recovered> {
  const [records, kept] = await Promise.all([parts.records.living(), parts.maker.keptSandboxes()]);
  const found = new Map(kept.map((one) => [one.id, one]));
  const failed = await eachOf(records, fleetLimits.recoveringAtOnce, (record) =>
    recoverOne(parts, record, found.get(record.id)),
  );
  for (const error of failed) parts.onError(error);
  const strays = kept.flatMap(({ id, fleet }) => (fleet && parts.registry.get(id) === undefined ? [id] : []));
  const destroyed = await parts.records.list({ status: "destroyed", limit: fleetLimits.sandboxes });
  return { strays: [...new Set([...strays, ...destroyed.map(({ id }) => id)])] };
}

async function recoverOne(parts: RecoverParts, record: SandboxRecord, kept: KeptSandbox | undefined): Promise<void> {
  const member = new Member(record, parts.clock);
  const { ledger } = parts;
  if (record.status === "creating") return give(parts, member, "its creation did not end");
  if (kept === undefined) return give(parts, member, "its workspace is gone");
  parts.registry.add(member);
  if (kept.state === "ended") {
    if (record.status !== "stopped" && record.status !== "failed")
      await member.become(ledger, "failed", undefined, "it ended while no daemon ran");
    return;
  }
  if (kept.state === "stopped") {
    if (record.status === "running" || record.status === "paused")
      await member.become(ledger, "stopped", undefined, "found so");
    return;
  }
  await attach(parts, member, kept.state);
}

async function attach(
  { maker, lifecycle, ledger }: RecoverParts,
  member: Member,
  state: "running" | "paused",
): Promise<void> {
  try {
    const sandbox = await maker.attachSandbox(member.record.id);
    lifecycle.hold(member, sandbox);
    if (state === "running") await equip(sandbox, member.record);
  } catch (error) {
    if (member.record.status !== "failed")
      await member.become(ledger, "failed", undefined, `it could not be reached: ${messageOf(error)}`);
    return;
  }
  const { status } = member.record;
  if (status === state) return;
  if (status !== "running" && state === "paused") await member.become(ledger, "running", undefined, "found so");
  await member.become(ledger, state, undefined, "found so");
}

/** A record without a boundary, or the other way round, is nobody's. */
async function give({ ledger, removals }: RecoverParts, member: Member, reason: string): Promise<void> {
  await member.become(ledger, "destroyed", undefined, reason);
  await removals.remove(member.record.id);
}

function messageOf(error: unknown): string {
  return error instanceof AppError || error instanceof Error ? error.message : String(error);
}
