import type { FleetEgress } from "../../core/egress-policies.ts";
import type { EngineName, SandboxLimits } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import type { News } from "../../core/journal.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import type { TemplateOrigin } from "../../core/template.ts";
import type { Clock } from "../../lib/clock.ts";
import { defined } from "../../lib/defined.ts";
import type { Sandbox } from "../sandbox.ts";
import { about, type Book, environmentOf } from "./book.ts";
import type { EngineChooser } from "./choice.ts";
import type { DiskShares } from "./disk-shares.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { SandboxMaker } from "./maker.ts";
import { Member } from "./member.ts";
import type { Pools, Taken } from "./pools.ts";
import type { Provisioner, ProvisionTerms } from "./provisioner.ts";
import type { JobQueue } from "./queue.ts";
import type { Registry } from "./registry.ts";
import type { Removals } from "./removals.ts";
import { keptOf, type ResolvedRequest } from "./resolve-defaults.ts";
import type { Seeds } from "./seeds.ts";
import type { Slots } from "./slots.ts";
import type { TemplatePools } from "./template-pools.ts";
import { startTemplate } from "./template-start.ts";

/** Puts the files of a snapshot into a new workspace. */
export type Restore = (caller: Caller, sandbox: Sandbox, snapshotId: string) => Promise<void>;

/** Lends the files of a sandbox as a snapshot that is gone afterwards. */
export type LendFiles = <T>(caller: Caller, original: Sandbox, use: (snapshotId: string) => Promise<T>) => Promise<T>;

export interface CreationParts {
  maker: SandboxMaker;
  engines: EngineChooser;
  pools: Pools;
  templatePools: TemplatePools;
  queue: JobQueue;
  starts: Slots;
  registry: Registry;
  shares: DiskShares;
  lifecycle: Lifecycle;
  book: Book;
  removals: Removals;
  provisioner: Provisioner;
  clock: Clock;
  restore: Restore;
  lendFiles: LendFiles;
  seeds: Seeds;
  maxLifetimeMs: number;
  egress: Pick<FleetEgress, "check" | "keep" | "ownPolicy" | "left"> | undefined;
  onError: (error: unknown) => void;
}

export interface Made {
  sandbox: Sandbox;
  origin: string;
  template?: TemplateOrigin;
  /** Whether it is well, where that is not known yet: known before anybody gets it. */
  isWell?: Promise<boolean>;
}

/** A sandbox for somebody: warm if one waits, else a new one; recorded, then theirs. */
export async function createMember(parts: CreationParts, caller: Caller, resolved: ResolvedRequest): Promise<Member> {
  const engine = await parts.engines.choose(resolved.engine);
  for (;;) {
    const made = await make(parts, caller, resolved, engine);
    const member = await settle(parts, caller, resolved, made);
    if (member !== undefined) return member;
  }
}

async function make(
  parts: CreationParts,
  caller: Caller,
  resolved: ResolvedRequest,
  engine: EngineName,
): Promise<Made> {
  if (caller.serverId !== undefined) return startCold(parts, caller, resolved, engine, "it is a hosted server's");
  if (resolved.template !== null) return startTemplate(parts, caller, resolved, resolved.template);
  const hasSecrets = parts.provisioner.hasSecrets(caller.principal.namespace);
  const taken = await takeWarm(parts, caller, resolved, () => parts.pools.take(resolved, engine, hasSecrets));
  return "cold" in taken ? startCold(parts, caller, resolved, engine, taken.cold) : taken;
}

export async function takeWarm(
  parts: CreationParts,
  caller: Caller,
  resolved: ResolvedRequest,
  take: () => Promise<Taken>,
): Promise<Made | { cold: string }> {
  for (;;) {
    const taken = await take();
    if ("cold" in taken) return taken;
    const { sandbox, isWell } = taken;
    try {
      const provisioned = parts.provisioner.provision(caller, sandbox, termsOf(caller, resolved, resolved.limits));
      await (isWell === undefined ? provisioned : whileWell(isWell, provisioned));
      return { ...taken, origin: "pool" };
    } catch (error) {
      parts.removals.remove(sandbox.id, sandbox).catch(parts.onError);
      if ((await isWell) === false) continue;
      parts.onError(error);
      return { cold: "the one from the pool could not be given its limits" };
    }
  }
}

/** What waits for one that never answers is given up with it. */
async function whileWell(isWell: Promise<boolean>, work: Promise<void>): Promise<void> {
  work.catch(() => undefined);
  const given = async () => {
    if (!(await isWell)) throw new AppError("unavailable", "the sandbox does not respond");
    await work;
  };
  await Promise.race([work, given()]);
}

function startCold(
  { maker, pools, queue, starts, removals, provisioner, onError }: CreationParts,
  caller: Caller,
  resolved: ResolvedRequest,
  engine: EngineName,
  why: string,
): Promise<Made> {
  const { image, limits, warm, priority, inputFolder, outputFolder } = resolved;
  return queue.with({ caller, kind: "create", priority }, async () => {
    const options = { engine, limits, warm, keep: true, fleet: true } as const;
    const root = image.layerId ?? undefined;
    const folders = defined({ root, folder: inputFolder ?? undefined, outputFolder: outputFolder ?? undefined });
    const sandbox = await starts.with(async () => {
      caller.gone?.throwIfAborted();
      return pools.makeRoom(() => maker.createSandbox({ ...options, ...folders }));
    });
    try {
      await provisioner.provision(caller, sandbox, termsOf(caller, resolved, limits));
    } catch (error) {
      await removals.remove(sandbox.id, sandbox).catch(onError);
      throw error;
    }
    if (caller.serverId === undefined) pools.open(image, engine);
    return { sandbox, origin: `cold: ${why}` };
  });
}

export function termsOf(
  { principal, serverId }: Caller,
  { env, forTemplate }: Pick<ResolvedRequest, "env" | "forTemplate">,
  limits: SandboxLimits,
): ProvisionTerms {
  const { namespace, id: createdBy } = principal;
  return { namespace, createdBy, serverId: serverId ?? null, env, limits, withoutSecrets: forTemplate };
}

/** Recorded while it is asked whether it is well; undefined when it is not: its record says so, and another is taken. */
async function settle(
  parts: CreationParts,
  caller: Caller,
  resolved: ResolvedRequest,
  { sandbox, origin, template, isWell }: Made,
): Promise<Member | undefined> {
  const { book, lifecycle, registry, removals, egress, provisioner, clock, onError } = parts;
  const record = { ...recordOf(caller, resolved, sandbox, clock.wallMs(), origin), template: template ?? null };
  const { status, engine, image, limits } = record;
  const { snapshotId, inputFolder, outputFolder } = resolved;
  const asks = {
    snapshot_id: snapshotId,
    input_folder: inputFolder,
    output_folder: outputFolder,
    template_id: template?.id ?? null,
    ...(resolved.forTemplate ? ({ for_template: true } as const) : {}), // whoever may not find it may not find what it left either (S79)
    ...(caller.serverId === undefined ? {} : { server_id: caller.serverId }), // nor (S120)
  };
  const data = { status, engine, image, origin, ...limitDetail(limits), ...asks };
  const who = about(record, caller);
  const news: News[] = [{ ...who, type: "sandbox.created", data }, ...environmentOf(record, caller)];
  if (resolved.sessionKey !== null)
    news.push({ ...who, type: "session.created", data: { session_key: resolved.sessionKey } });
  try {
    if (resolved.network !== null) await egress?.keep(record.id, resolved.network);
    await book.journal.recordAll(news, (within) => book.records.insert(record, within));
  } catch (error) {
    egress?.left(record.id);
    await removals.remove(record.id, sandbox).catch(onError);
    throw error;
  }
  const member = new Member(record, clock, resolved.forTemplate);
  if ((await isWell) === false) {
    egress?.left(record.id);
    await member.become(book, "destroyed", undefined, "it did not answer");
    removals.remove(record.id, sandbox).catch(onError);
    return undefined;
  }
  lifecycle.hold(member, sandbox);
  registry.add(member);
  if (!provisioner.isCurrent(sandbox, record)) await lifecycle.refresh(member); // changed since, and not known to be told
  if (resolved.snapshotId !== null) await fillWorkspace(parts, caller, member, sandbox, resolved.snapshotId);
  return member;
}

async function fillWorkspace(
  { book, lifecycle, registry, restore, onError }: CreationParts,
  caller: Caller,
  member: Member,
  sandbox: Sandbox,
  snapshotId: string,
): Promise<void> {
  try {
    await restore(caller, sandbox, snapshotId);
    await member.become(book, "running", caller);
  } catch (error) {
    if (member.record.status !== "destroyed")
      await lifecycle.destroy(member, undefined, "its creation failed").catch(onError);
    registry.delete(member);
    throw error;
  }
}

function recordOf(
  caller: Caller,
  resolved: ResolvedRequest,
  sandbox: Sandbox,
  nowMs: number,
  origin: string,
): SandboxRecord {
  const { image, sessionKey, lifetimeMs } = resolved;
  return {
    ...keptOf(resolved),
    id: sandbox.id,
    namespace: caller.principal.namespace,
    status: resolved.snapshotId === null ? "running" : "creating",
    engine: sandbox.engine,
    image: image.name,
    layerId: image.layerId,
    sessionKey,
    limits: sandbox.limits,
    createdAtMs: nowMs,
    lastUsedAtMs: nowMs,
    expiresAtMs: nowMs + lifetimeMs,
    pausedAtMs: null,
    origin,
    failure: null,
    createdBy: caller.principal.id,
    template: null,
    serverId: caller.serverId ?? null,
  };
}

function limitDetail({ memoryBytes, cpus, processes, storageBytes }: SandboxLimits) {
  return { memory_bytes: memoryBytes, cpus, processes, storage_bytes: storageBytes };
}
