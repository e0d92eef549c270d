import { z } from "zod";
import type { ContextLanguage } from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import { type Language, languages } from "../core/language.ts";
import { requestLimits } from "../core/limits.ts";
import type { Caller } from "../core/principal.ts";
import type { SandboxRecord } from "../core/sandbox-record.ts";
import { fleetLimits } from "../sandboxes/fleet/limits.ts";
import { browserSession } from "./browser-session.ts";
import { findSession } from "./find-session.ts";
import type { ToolCall } from "./tool.ts";

/** A field of every tool that works in a sandbox. */
export const sessionId = z
  .string()
  .min(1)
  .max(fleetLimits.sessionKeyChars)
  .optional()
  .describe("from create_session, or a name that you choose; default: your own session");

/** Where a sandbox remembers what its session was made for. */
export const sessionLabels = { language: "session.language", timeout: "session.timeout_seconds" } as const;

/** Of code that names none. */
export function languageOf({ labels }: SandboxRecord): Language {
  const found = labels[sessionLabels.language];
  return languages.find((one) => one === found) ?? "python";
}

/** Of runs that name no time, in seconds. Labels are anybody's: what is no time counts for nothing. */
export function timeoutOf({ labels }: SandboxRecord): number | undefined {
  const found = Number(labels[sessionLabels.timeout]);
  return found > 0 && found <= requestLimits.timeoutMs.max / 1000 ? found : undefined;
}

/** Likewise, of what lives on between calls. */
export function contextLanguageOf(record: SandboxRecord): ContextLanguage {
  const language = languageOf(record);
  return language === "shell" ? "python" : language;
}

/** Of every result that came out of a sandbox. */
export const where = { session_id: z.string(), sandbox_id: z.string() };

export function whereOf({ id, sessionKey }: SandboxRecord): { session_id: string; sandbox_id: string } {
  return { session_id: sessionKey ?? id, sandbox_id: id };
}

/** As `sessionOf`, for what makes nothing: a session that nobody has used yet is not there. */
export async function existingSession(call: ToolCall, named: string | undefined): Promise<SandboxRecord> {
  const record = await findSession(call, named ?? call.session);
  if (record === undefined)
    throw new AppError(
      "not_found",
      named === undefined ? "your session has no sandbox yet" : `unknown session '${named}'`,
      {
        hint: "execute_code and create_session make one; inspect_state lists those there are",
      },
    );
  call.using?.(record.id);
  return record;
}

/** The sandbox that a call means: one that exists, by its id, or the session's, which has one from its first use on. */
export async function sessionOf(call: ToolCall, named: string | undefined): Promise<SandboxRecord> {
  const { caller, parts } = call;
  const isSandbox = named !== undefined && parts.fleet.namespaceOf(named) === caller.principal.namespace;
  const record = isSandbox
    ? await parts.fleet.get(caller, named)
    : (await parts.create(caller, { sessionKey: named ?? call.session })).record;
  call.using?.(record.id);
  return record;
}

/** What a session left behind goes with it. */
export async function endSession(
  fleet: Pick<Fleet<unknown>, "list" | "destroy">,
  caller: Caller,
  key: string,
): Promise<void> {
  for (const sessionKey of [key, browserSession(key)])
    for (const { id } of await fleet.list(caller, { sessionKey, limit: 10 })) await fleet.destroy(caller, id);
}
