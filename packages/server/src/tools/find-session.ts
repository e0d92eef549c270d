import type { SandboxRecord } from "../core/sandbox-record.ts";
import type { ToolCall } from "./tool.ts";

/** The sandbox of a session, by its id or key, if it has one: looking makes none. */
export async function findSession(
  { caller, parts }: Pick<ToolCall, "caller"> & { parts: Pick<ToolCall["parts"], "fleet"> },
  named: string,
): Promise<SandboxRecord | undefined> {
  if (parts.fleet.namespaceOf(named) === caller.principal.namespace) return parts.fleet.get(caller, named);
  const [found] = await parts.fleet.list(caller, { sessionKey: named, limit: 1 });
  return found;
}
