import { AppError } from "../core/errors.ts";
import type { SecretBinding, SecretDelivery, SecretHolder, SecretTarget } from "../core/secret.ts";
import type { BindingRecord } from "../core/secret-record.ts";
import { secretLimits } from "./limits.ts";

const variablePattern = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const tokenPattern = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const hostPattern = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export function checkDelivery(delivery: SecretDelivery): void {
  if (delivery.as === "file") return;
  if (!variablePattern.test(delivery.variable)) throw invalid("invalid name of a variable");
  if (delivery.as === "env") return;
  const { header, format, hosts } = delivery;
  if (!tokenPattern.test(header) || header.length > secretLimits.headerCharacters)
    throw invalid("invalid name of a header");
  if (
    !/^[\x20-\x7e]*$/.test(format) ||
    format.length > secretLimits.formatCharacters ||
    format.split("{}").length !== 2
  )
    throw invalid("the format must contain {} once, in place of the value, and only printable characters");
  if (hosts.length === 0 || hosts.length > secretLimits.hosts || !hosts.every((host) => hostPattern.test(host)))
    throw invalid(`hosts must be 1 to ${secretLimits.hosts} lowercase names without wildcards`);
}

function invalid(what: string): AppError {
  return new AppError("invalid", what);
}

/** Of two bindings that fill the same place the more particular one holds, then the newer. */
export function choose(bindings: readonly BindingRecord[]): BindingRecord[] {
  const chosen = new Map<string, BindingRecord>();
  for (const binding of bindings) {
    const place = placeOf(binding);
    const other = chosen.get(place);
    if (other === undefined || rankOf(binding.target) >= rankOf(other.target)) chosen.set(place, binding);
  }
  return [...chosen.values()];
}

export function placeOf({ name, delivery }: Pick<BindingRecord, "name" | "delivery">): string {
  return delivery.as === "file" ? `file ${name}` : `variable ${delivery.variable}`;
}

function rankOf(target: SecretTarget): number {
  if ("sandboxId" in target || "serverId" in target) return 2;
  return "keyId" in target ? 1 : 0;
}

/** The sandboxes of a hosted server run a stranger's code: only what is bound to the server itself is for them (S121). */
export function isFor(
  target: SecretTarget,
  { id, createdBy, serverId = null, withheld = false }: Omit<SecretHolder, "namespace">,
): boolean {
  if (withheld) return false;
  if (serverId !== null || "serverId" in target) return "serverId" in target && target.serverId === serverId;
  if ("sandboxId" in target) return target.sandboxId === id;
  return "keyId" in target ? target.keyId === createdBy : target.all;
}

export function showBinding({ id, target, delivery }: BindingRecord): SecretBinding {
  return { id, target, delivery };
}
