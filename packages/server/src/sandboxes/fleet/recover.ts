import { isDeepStrictEqual } from "node:util";
import type { KeptSandbox } from "../../core/engine.ts";
import { AppError, messageOf } from "../../core/errors.ts";
import type { SandboxState } from "../../core/lifecycle.ts";
import type { SandboxRecord, SandboxRecords } from "../../core/sandbox-record.ts";
import type { Clock } from "../../lib/clock.ts";
import { hidePaths } from "../../lib/hide-paths.ts";
import { runsInBackground } from "../runs-in-background.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Book } from "./book.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { fleetLimits } from "./limits.ts";
import type { SandboxMaker } from "./maker.ts";
import { Member, rootOf } from "./member.ts";
import { type Provisioner, valuesInside } from "./provisioner.ts";
import type { Registry } from "./registry.ts";
import type { Removals } from "./removals.ts";
import { eachOf } from "./slots.ts";

export interface RecoverParts {
  maker: SandboxMaker;
  records: SandboxRecords;
  registry: Registry;
  lifecycle: Lifecycle;
  book: Book;
  removals: Removals;
  provisioner: Provisioner;
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
  if (record.status === "creating") return give(parts, member, "its creation did not end");
  parts.registry.add(member);
  if (record.serverId !== null) return recoverServer(parts, member, kept);
  switch (kept?.state) {
    case "stopped":
      return found(parts, member, "stopped", "found so");
    case "ended":
      if (record.status !== "stopped") await found(parts, member, "failed", "it ended while no daemon ran");
      return;
    default:
      return attach(parts, member);
  }
}

/** One of a hosted server does not go on: nobody has a connection to it, and its version may have changed. The next call starts it. */
async function recoverServer(parts: RecoverParts, member: Member, kept: KeptSandbox | undefined): Promise<void> {
  try {
    if (kept?.state !== "stopped") await parts.maker.stopSandbox(member.record.id);
    await found(parts, member, "stopped", "the daemon ended");
  } catch (error) {
    if (!(error instanceof AppError && error.code === "not_found"))
      return found(parts, member, "failed", `it could not be stopped: ${hidePaths(messageOf(error))}`);
    parts.registry.delete(member);
    await give(parts, member, "its workspace is gone");
  }
}

/** One that is not listed may have a record that cannot be read: only what is known to be gone is given up. */
async function attach(parts: RecoverParts, member: Member): Promise<void> {
  let sandbox: Sandbox;
  const secrets = await parts.provisioner.prepare(undefined, member.record);
  const hide = secrets === undefined ? [] : valuesInside(secrets);
  try {
    sandbox = await parts.maker.attachSandbox(member.record.id, { hide, ...rootOf(member.record) });
  } catch (error) {
    if (!(error instanceof AppError && error.code === "not_found"))
      return found(parts, member, "failed", `it could not be reached: ${hidePaths(messageOf(error))}`);
    parts.registry.delete(member);
    return give(parts, member, "its workspace is gone");
  }
  parts.lifecycle.hold(member, sandbox);
  await adopt(parts, member, sandbox);
  const why = refusal(parts.maker, sandbox);
  if (why !== undefined) return parts.lifecycle.stop(member, undefined, { why });
  // One that is paused gets them when it goes on.
  if (secrets !== undefined && !sandbox.paused) await parts.provisioner.apply(sandbox, member.record, secrets);
}

/** Why it may not go on as it is (S78): it starts anew when somebody uses it. What its processes may do was settled as it started. */
function refusal(maker: SandboxMaker, sandbox: Sandbox): string | undefined {
  if (sandbox.listeners && !maker.listeners) return "policy lets nothing listen any more";
  if (!sandbox.background.allowed && runsInBackground(sandbox))
    return "policy lets nothing run in the background any more";
  return undefined;
}

/** What the boundary is and has is what holds, where the last daemon died before it could record a change. */
async function adopt(parts: RecoverParts, member: Member, sandbox: Sandbox): Promise<void> {
  const { id, env, limits } = member.record;
  sandbox.setEnvironment(env);
  if (!isDeepStrictEqual(limits, sandbox.limits)) {
    member.record = { ...member.record, limits: sandbox.limits };
    await parts.records.update(id, { limits: sandbox.limits });
  }
  if (!sandbox.paused) return found(parts, member, "running", "found so");
  if (member.record.status !== "paused") await found(parts, member, "running", "found so");
  await found(parts, member, "paused", "found so");
}

async function found({ book }: RecoverParts, member: Member, state: SandboxState, why: string): Promise<void> {
  if (member.record.status !== state) await member.become(book, state, undefined, why);
}

/** A record without a boundary, or the other way round, is nobody's. */
async function give({ book, removals }: RecoverParts, member: Member, reason: string): Promise<void> {
  await member.become(book, "destroyed", undefined, reason);
  await removals.remove(member.record.id);
}
