import { AppError } from "../../core/errors.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import { isAllowed, keyFor, whyNot } from "../../core/scope.ts";

/** Whoever may only read wakes nothing up: a start costs what others could use. */
export function checkMayStart({ principal }: Caller, { id, status }: SandboxRecord): void {
  if (isAllowed(principal, "use")) return;
  throw new AppError("conflict", `cannot start sandbox ${id}, which is ${status}: ${whyNot(principal, "use")}`, {
    hint: `${keyFor(principal, "use")}: any call that uses the sandbox starts it`,
  });
}
