import { randomBytes } from "node:crypto";
import { AppError } from "../core/errors.ts";
import type { News, Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import type { BoundSecret, Handover, HeldSecret, SecretHolder } from "../core/secret.ts";
import type { BindingRecord, DeliveryRecord } from "../core/secret-record.ts";
import { choose, isFor, placeOf } from "./check-binding.ts";
import { secretLimits } from "./limits.ts";
import { type ReaderParts, readValue } from "./value-reader.ts";

export interface HandOverParts extends ReaderParts {
  journal: Recorder;
}

/** What a sandbox gets and what it loses. Every value is in the audit log before anybody has it. */
export async function handOver(
  parts: HandOverParts,
  actor: Caller | undefined,
  holder: SecretHolder,
  held: readonly HeldSecret[],
): Promise<Handover> {
  const { records } = parts;
  const due = choose((await records.bindings(holder.namespace)).filter(({ target }) => isFor(target, holder)));
  const before = await records.deliveries(holder.id);
  const alike = holder.copyOf === undefined ? [] : await records.deliveries(holder.copyOf);
  const bring: BoundSecret[] = [];
  const kept = new Set<string>();
  try {
    for (const binding of due) {
      const has = held.find(({ bindingId }) => bindingId === binding.id);
      const got = await give(parts, holder, binding, [...before, ...alike], has?.version);
      if (got === undefined) continue;
      kept.add(placeOf(binding));
      if (got !== "has it") bring.push(got);
    }
    checkRoom(holder, bring, held.length);
    await parts.journal.recordAll(bring.map((bound) => access(actor, holder, bound)));
  } catch (error) {
    for (const { value } of bring) value.fill(0);
    throw error;
  }
  return { bring, take: gone(held, before, kept), known: await knownValues(parts, before, [...bring, ...held]) };
}

/** Bindings that a sandbox had before, while their value is the same: code may have kept a copy. */
async function knownValues(
  parts: ReaderParts,
  before: readonly DeliveryRecord[],
  now: readonly HeldSecret[],
): Promise<Buffer[]> {
  const known: Buffer[] = [];
  const inside = now.filter(({ delivery }) => delivery.as !== "header");
  for (const { namespace, name, version, delivery } of before) {
    if (delivery.as === "header") continue;
    if (inside.some((one) => one.name === name && one.version === version)) continue;
    const read = await readValue(parts, namespace, name);
    if (read?.version === version) known.push(read.value);
    else read?.value.fill(0);
  }
  return known;
}

/** Undefined when there is no value for it. One that was put anew meanwhile is read again. */
async function give(
  parts: HandOverParts,
  holder: SecretHolder,
  binding: BindingRecord,
  before: readonly DeliveryRecord[],
  hasVersion: number | undefined,
): Promise<BoundSecret | "has it" | undefined> {
  for (let tries = 0; tries < secretLimits.readTries; tries++) {
    const read = await readValue(parts, holder.namespace, binding.name);
    if (read === undefined) return undefined;
    const bound = boundSecret(binding, read, before);
    let outcome: "delivered" | "spent" | "changed" | "has it" | undefined;
    try {
      outcome =
        hasVersion === read.version
          ? "has it"
          : await parts.records.deliver(deliveryOf(bound, holder, parts.clock.wallMs()));
    } finally {
      if (outcome !== "delivered") bound.value.fill(0);
    }
    if (outcome === "delivered") return bound;
    if (outcome !== "changed") return outcome === "spent" ? undefined : outcome;
  }
  throw new AppError("unavailable", `the secret ${binding.name} changes too often`, { retryAfterMs: 1_000 });
}

function boundSecret(
  { id, name, delivery }: BindingRecord,
  { version, value }: { version: number; value: Buffer },
  before: readonly DeliveryRecord[],
): BoundSecret {
  // Programs that run on over a restart of the daemon know the one they were given.
  const known = before.find(({ bindingId }) => bindingId === id)?.placeholder;
  const placeholder = delivery.as === "header" ? (known ?? newPlaceholder()) : null;
  return { bindingId: id, name, version, delivery, placeholder, value };
}

function newPlaceholder(): string {
  return `caisson-secret-${randomBytes(secretLimits.placeholderBytes).toString("hex")}`;
}

function deliveryOf(
  { bindingId, name, version, delivery, placeholder }: BoundSecret,
  { id, namespace }: SecretHolder,
  nowMs: number,
): DeliveryRecord {
  return { sandboxId: id, bindingId, namespace, name, version, delivery, placeholder, deliveredAtMs: nowMs };
}

/** Also what an owner before this one has put there. */
function gone(held: readonly HeldSecret[], before: readonly HeldSecret[], kept: ReadonlySet<string>): HeldSecret[] {
  const files = before.filter(({ delivery }) => delivery.as === "file");
  const places = new Map([...files, ...held].map((one) => [placeOf(one), one]));
  return [...places].flatMap(([place, one]) => (kept.has(place) ? [] : [one]));
}

function checkRoom({ id }: SecretHolder, bring: readonly BoundSecret[], held: number): void {
  const { perSandbox, sandboxBytes, environmentBytes } = secretLimits;
  const bytesOf = (some: readonly BoundSecret[]) => some.reduce((sum, { value }) => sum + value.length, 0);
  if (bring.length + held > perSandbox || bytesOf(bring) > sandboxBytes)
    throw new AppError(
      "limit_exceeded",
      `too many secrets are bound to ${id} (limit: ${perSandbox} secrets, ${sandboxBytes} bytes)`,
    );
  if (bytesOf(bring.filter(({ delivery }) => delivery.as === "env")) > environmentBytes)
    throw new AppError(
      "limit_exceeded",
      `the secrets bound to ${id} as variables are too large (limit: ${environmentBytes} bytes)`,
    );
}

function access(
  actor: Caller | undefined,
  { id, namespace }: SecretHolder,
  bound: BoundSecret,
): News<"vault.accessed"> {
  const { name, version, bindingId, delivery } = bound;
  const variable = delivery.as === "file" ? {} : { variable: delivery.variable };
  const data = { secret: name, version, binding_id: bindingId, as: delivery.as, ...variable };
  return { type: "vault.accessed", by: actor ?? "system", namespace, sandboxId: id, data };
}
