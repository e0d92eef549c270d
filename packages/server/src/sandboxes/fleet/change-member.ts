import type { FleetSettings, SandboxChanges } from "../../core/fleet.ts";
import type { News } from "../../core/journal.ts";
import type { Caller } from "../../core/principal.ts";
import { resolveSandboxLimits } from "../../core/request.ts";
import { defined } from "../../lib/defined.ts";
import { about, environmentOf } from "./book.ts";
import type { CreationParts } from "./creation.ts";
import type { Member } from "./member.ts";
import { checkEnv, checkIdle, checkLabels, checkLifetime } from "./resolve-defaults.ts";

interface ChangeParts extends Pick<CreationParts, "provisioner" | "book"> {
  settings: FleetSettings;
}

/** All of it or nothing; what runs already keeps the variables that it has. */
export async function changeMember(
  { provisioner, book, settings }: ChangeParts,
  caller: Caller,
  member: Member,
  changes: SandboxChanges,
): Promise<void> {
  const { limits: asked, idleTimeoutMs, lifetimeMs, ...plain } = changes;
  const { env, labels } = plain;
  if (env !== undefined) checkEnv(env);
  if (labels !== undefined) checkLabels(labels);
  if (idleTimeoutMs !== undefined) checkIdle(idleTimeoutMs);
  if (lifetimeMs !== undefined) checkLifetime(lifetimeMs, settings);
  await member.turn.take(async () => {
    member.checkThere();
    const { record: before, sandbox } = member;
    const limits = resolveSandboxLimits({ ...before.limits, ...asked });
    if (asked !== undefined) await sandbox?.updateLimits(limits);
    if (env !== undefined && sandbox !== undefined) provisioner.setPlain(sandbox, env);
    const changed = { ...defined(plain), ...member.retime(changes), limits };
    member.record = { ...before, ...changed };
    const what = Object.keys(changes).sort().join(",");
    try {
      const { record } = member;
      const news: News[] = [{ ...about(record, caller), type: "sandbox.changed", data: { what } }];
      if (env !== undefined) news.push(...environmentOf(record, caller));
      await book.journal.recordAll(news, (within) => book.records.update(record.id, changed, within));
    } catch (error) {
      member.retime({ idleTimeoutMs: before.idleTimeoutMs, lifetimeMs: before.expiresAtMs - before.createdAtMs });
      member.record = before;
      if (asked !== undefined) await sandbox?.updateLimits(before.limits);
      if (env !== undefined && sandbox !== undefined) provisioner.setPlain(sandbox, before.env);
      throw error;
    }
  });
}
