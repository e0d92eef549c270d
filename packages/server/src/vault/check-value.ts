import { isUtf8 } from "node:buffer";
import { AppError } from "../core/errors.ts";
import type { SecretDelivery } from "../core/secret.ts";
import { secretLimits } from "./limits.ts";

const { min, max } = secretLimits.valueBytes;

/** `what` is a name: no message holds a part of a value. */
export function checkLength(value: Buffer, what: string): void {
  if (value.length < min)
    throw new AppError("invalid", `${what}: a secret has at least ${min} bytes`, {
      hint: "output could not be kept free of a shorter one without losing ordinary words",
    });
  if (value.length > max) throw new AppError("too_large", `${what}: a secret has at most ${max} bytes`);
}

export function warningsOf(value: Buffer): string[] {
  if (value.length > secretLimits.warnBytes) return [];
  return [`it has only ${value.length} bytes: ordinary output that holds the same characters is redacted`];
}

/** Whether a value can be given in that way at all. */
export function checkFits(name: string, value: Buffer, delivery: SecretDelivery): void {
  if (delivery.as === "env" && (value.includes(0) || !isUtf8(value)))
    throw new AppError("invalid", `the value of ${name} cannot be an environment variable: it is no text`, {
      hint: "bind it as a file",
    });
  if (delivery.as === "env" && value.length > secretLimits.variableBytes)
    throw new AppError("too_large", `the value of ${name} is past ${secretLimits.variableBytes} bytes for a variable`, {
      hint: "bind it as a file",
    });
  if (delivery.as === "header" && !value.every((byte) => byte >= 0x20 && byte < 0x7f))
    throw new AppError("invalid", `the value of ${name} cannot be in a header: it has other than printable characters`);
}
