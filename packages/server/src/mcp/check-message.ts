import { AppError } from "../core/errors.ts";
import { hasMoreNames, isCrowded, isNames } from "../core/json-crowd.ts";
import { mcpLimits } from "../core/mcp-limits.ts";
import { checkNames } from "../tools/call-tool.ts";

/**
 * Refuses a message that the protocol's library would be busy with for long: it looks at every name, several times over, and
 * nobody else is served meanwhile.
 */
export function checkMessage(body: unknown): void {
  for (const message of Array.isArray(body) ? body.slice(0, mcpLimits.batch + 1) : [body]) check(message);
}

function check(message: unknown): void {
  const { names } = mcpLimits;
  const tooMany = () => new AppError("too_large", `a message has ${names} names at most`);
  if (hasMoreNames(message, names)) throw tooMany();
  if (!isNames(message)) return;
  const { params, ...outer } = message;
  if (hasMoreNames(params, names)) throw tooMany();
  const { arguments: given, ...inner } = isNames(params) ? params : {};
  if (isCrowded([outer, inner], names)) throw tooMany();
  checkNames(given);
}
