import { isUtf8 } from "node:buffer";
import { AppError } from "../core/errors.ts";
import type { SecretDelivery } from "../core/secret.ts";
import { secretLimits } from "./limits.ts";

const { min, max } = secretLimits.valueBytes;

/** `what` is a name: no message holds a part of a value. */
export function checkLength(value: Buffer, what: string): void {
  if (value.length < min)
    throw new AppError("invalid", `${what}: the secret is too short (minimum: ${min} bytes)`, {
      hint: "masking a shorter value would also mask ordinary words",
    });
  if (value.length > max) throw new AppError("too_large", `${what}: the secret is too large (limit: ${max} bytes)`);
}

export function warningsOf(value: Buffer): string[] {
  if (value.length > secretLimits.warnBytes) return [];
  return [`it has only ${value.length} bytes: ordinary output that holds the same characters is redacted`];
}

/** Whether a value can be given in that way at all. */
export function checkFits(name: string, value: Buffer, delivery: SecretDelivery): void {
  if (delivery.as === "env" && (value.includes(0) || !isUtf8(value)))
    throw new AppError("invalid", `the value of ${name} cannot be an environment variable: it is not text`, {
      hint: "bind it as a file",
    });
  if (delivery.as === "env" && value.length > secretLimits.variableBytes)
    throw new AppError(
      "too_large",
      `the value of ${name} is too large for a variable (limit: ${secretLimits.variableBytes} bytes)`,
      {
        hint: "bind it as a file",
      },
    );
  if (delivery.as === "header" && !value.every((byte) => byte >= 0x20 && byte < 0x7f))
    throw new AppError("invalid", `the value of ${name} cannot be in a header: it has non-printable characters`);
}
