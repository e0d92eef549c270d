import { AppError } from "../core/errors.ts";
import { hasMoreNames, isCrowded, isNames } from "../lib/json-crowd.ts";
import { mcpLimits } from "./limits.ts";

/**
 * Refuses a message that the protocol's library would be busy with for long: it looks at every name, several times over, and
 * nobody else is served meanwhile. What a tool is given is checked by `checkArguments`.
 */
export function checkMessage(body: unknown, checkArguments: (given: unknown) => void): void {
  for (const message of Array.isArray(body) ? body.slice(0, mcpLimits.batch + 1) : [body])
    check(message, checkArguments);
}

function check(message: unknown, checkArguments: (given: unknown) => void): void {
  const { names } = mcpLimits;
  const tooMany = () => new AppError("too_large", `too many names in the message (limit: ${names})`);
  if (hasMoreNames(message, names)) throw tooMany();
  if (!isNames(message)) return;
  const { params, ...outer } = message;
  if (hasMoreNames(params, names)) throw tooMany();
  const { arguments: given, ...inner } = isNames(params) ? params : {};
  if (isCrowded([outer, inner], names)) throw tooMany();
  checkArguments(given);
}
