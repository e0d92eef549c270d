import { z } from "zod";
import { fleetLimits } from "../core/fleet-limits.ts";
import type { SandboxRecord } from "../core/sandbox-record.ts";
import type { ToolCall } from "./tool.ts";

/** A field of every tool that works in a sandbox. */
export const sessionId = z
  .string()
  .min(1)
  .max(fleetLimits.sessionKeyChars)
  .optional()
  .describe("from create_session, or a name of your own choice; without it you work in a session that is yours alone");

/** The sandbox that a call means: one that exists, by its id, or the session's, which has one from its first use on. */
export async function sessionOf(call: ToolCall, named: string | undefined): Promise<SandboxRecord> {
  const { caller, parts } = call;
  const isSandbox = named !== undefined && parts.fleet.namespaceOf(named) === caller.principal.namespace;
  const record = isSandbox
    ? await parts.fleet.get(caller, named)
    : (await parts.fleet.create(caller, { sessionKey: named ?? call.session })).record;
  call.using?.(record.id);
  return record;
}
