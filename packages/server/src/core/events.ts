/** All that a daemon or the library can record: names, what each holds, and who reads it. */
import { z } from "zod";
import { approvalScopes, approvalStates } from "./approval.ts";
import { approvalKindNames } from "./approval-kinds.ts";
import { errorCodes } from "./errors.ts";
import { gcTriggers } from "./gc.ts";
import { sandboxStates } from "./lifecycle.ts";
import { runEnds } from "./run-end.ts";
import { roles } from "./scope.ts";
import { callVerdicts, readKinds } from "./tool-call.ts";

/**
 * `audit`: a row of the audit log; its position is the event's id. `feed`: subscribers, webhooks and MCP clients.
 * In `feed` alone: sent to those who listen now, without an id. In neither: the library's listeners alone.
 */
export type Audience = "audit" | "feed";

export interface EventKind<D extends z.ZodType = z.ZodType> {
  data: D;
  audience: readonly Audience[];
  /** Cheap to cause: what its actor repeats past a budget is counted in one entry (`audit.repeated`), and has no row of its own (S107). */
  isCounted?: (data: object) => boolean;
  /** Counted within a budget of its own type, so that no flood of others hides it: it lasts, or lets something out. */
  hasOwnBudget?: true;
}

const kept = <D extends z.ZodType>(data: D) => ({ data, audience: ["audit", "feed"] }) as const satisfies EventKind<D>;
const logged = <D extends z.ZodType>(data: D) => ({ data, audience: ["audit"] }) as const satisfies EventKind<D>;
const live = <D extends z.ZodType>(data: D) => ({ data, audience: ["feed"] }) as const satisfies EventKind<D>;
const local = <D extends z.ZodType>(data: D) => ({ data, audience: [] }) as const satisfies EventKind<D>;
const counted = <K extends EventKind>(kind: K, isCounted = (_: object) => true) => ({ ...kind, isCounted });

const countedApart = <K extends EventKind>(kind: K, isCounted?: (data: object) => boolean) =>
  ({ ...counted(kind, isCounted), hasOwnBudget: true }) as const;

const text = z.string();
const count = z.number();
const flag = z.boolean();
const state = z.enum(sandboxStates);
const engine = z.enum(["gvisor", "container"]);
const nothing = z.strictObject({});
const files = z.strictObject({ files: count });

const moved = z.strictObject({ from: state.optional(), to: state.optional(), reason: text.optional() });
const session = z.strictObject({ session_key: text });
const checkpoint = z.strictObject({ checkpoint_id: text });
const snapshot = z.strictObject({ snapshot_id: text });
const skill = z.strictObject({ skill_id: text, name: text, version: text });
const image = z.strictObject({ image_id: text, name: text });
const template = z.strictObject({ template_id: text, name: text });
const context = z.strictObject({ context_id: text });
const process = z.strictObject({ process_id: text });
const server = z.strictObject({ server_id: text, name: text });
const serverVersion = server.extend({ version: count });
const webhook = z.strictObject({ webhook_id: text });
const key = z.strictObject({ key_id: text });
const secret = z.strictObject({ secret: text });
const version = secret.extend({ version: count });
const path = z.strictObject({ path: text });
const content = path.extend({ size_bytes: count, sha256: text.optional() });

/** A command that was judged: its text by hash alone. */
const command = z.strictObject({
  kind: text.optional(),
  command_sha256: text.optional(),
  categories: text.optional(),
  approval_id: text.nullable().optional(),
});
const refusedCommand = command.extend({ rule: text.nullable() });
/** A run that has ended, as its record has it: output and list of files by hash. */
const ended = command.extend({
  exit_code: count.nullable().optional(),
  duration_ms: count.optional(),
  timed_out: flag.optional(),
  oom_killed: flag.optional(),
  cpu_limit: flag.optional(),
  ended_by: z.enum(runEnds).nullable().optional().describe("the limit that ended it"),
  files_changed: count.optional(),
  files_changed_sha256: text.optional(),
  stdout_sha256: text.optional(),
  stderr_sha256: text.optional(),
});

const question = z.strictObject({
  approval_id: text,
  kind: z.enum(approvalKindNames),
  subject: text.nullable().describe("null if it could reveal content: a command, a path of the host"),
  question_sha256: text,
  asked_by: text.nullable(),
});
const asked = question.extend({ expires_at: z.iso.datetime() });
const answered = question.extend({
  scope: z.enum(approvalScopes).nullable(),
  reason: text.nullable(),
  decided_by: text.nullable(),
  asked: count,
});

const connection = z.strictObject({
  attempt_id: text,
  host: text,
  port: count.describe("0: a DNS lookup"),
  address: text.nullable(),
  rule: text.nullable(),
  layer: text.nullable().optional(),
  reason: text.nullable(),
  approval_id: text.nullable().optional(),
});
/** And no answer of a human. */
const isAttempt = (data: object) => "attempt_id" in data;
const rules = z.array(text).optional();

const chainSize = z.strictObject({ bytes: count, limit_bytes: count });

const hostCommand = z.strictObject({ program: text, argv_sha256: text });
const hostRefusal = {
  error_code: z.enum(errorCodes),
  rule: text.nullable().optional(),
  approval_id: text.nullable().optional(),
};

export const events = {
  "execution.started": kept(command),
  "execution.completed": kept(ended),
  "execution.failed": kept(ended.extend({ error_code: z.enum(errorCodes).nullable().optional() })),
  "execution.timeout": kept(ended),
  "session.created": kept(session),
  "session.killed": kept(session),
  "package.installed": kept(
    z.strictObject({
      manager: text,
      count: count,
      locked: flag,
      packages: z.array(z.strictObject({ name: text, version: text, hash: text.nullable() })),
    }),
  ),
  "egress.requested": kept(asked),
  "egress.approved": kept(answered),
  "egress.denied": counted(kept(z.union([answered, connection])), isAttempt),
  "vault.accessed": countedApart(
    kept(
      version.extend({
        binding_id: text,
        as: z.enum(["file", "env", "header"]),
        variable: text.optional(),
        host: text.optional(),
      }),
    ),
  ),
  "resource.exceeded": kept(z.strictObject({ resource: z.enum(["memory", "cpu_time"]) })),
  "artifact.signed": counted(kept(files.extend({ signature: text.optional() }))),
  "queue.backpressure": live(z.strictObject({ waiting: count })),

  "execution.denied": counted(logged(refusedCommand)),
  "tool.called": counted(
    logged(
      z.strictObject({
        tool: text,
        session: text,
        server_id: text.optional().describe("the hosted MCP server whose tool it is"),
        verdict: z.enum(callVerdicts),
        error_code: z.enum(errorCodes).nullable(),
        duration_ms: count,
        arguments_sha256: text,
        result_sha256: text,
      }),
    ),
  ),
  "process.started": logged(command.extend({ id: text, started_at: z.iso.datetime() })),
  "process.input": counted(logged(process.extend({ size_bytes: count, sha256: text, close: flag }))),
  "process.signalled": counted(logged(process.extend({ signal: z.union([text, count]) }))),
  "process.resized": counted(logged(process.extend({ rows: count, columns: count }))),
  "process.killed": logged(process),
  "terminal.ticket": countedApart(logged(nothing)),
  "job.cancelled": logged(z.strictObject({ job_id: text, kind: text, request_id: text })),
  "context.created": logged(command.extend({ id: text, language: text })),
  "context.interrupted": counted(logged(context)),
  "context.restarted": logged(context),
  "context.deleted": logged(context),
  "record.failed": local(z.strictObject({ reason: text })),

  "sandbox.created": kept(
    z.strictObject({
      status: state.optional(),
      engine,
      image: text.optional(),
      origin: text.optional(),
      memory_bytes: count.optional(),
      cpus: count.optional(),
      processes: count.optional(),
      storage_bytes: count.optional(),
      snapshot_id: text.nullable().optional(),
      input_folder: text.nullable().optional(),
      output_folder: text.nullable().optional(),
      template_id: text.nullable().optional(),
      for_template: z.literal(true).optional(),
      server_id: text.optional(),
    }),
  ),
  "sandbox.environment": countedApart(logged(z.strictObject({ variables: text }))),
  "sandbox.started": kept(moved),
  "sandbox.paused": kept(moved),
  "sandbox.resumed": kept(moved),
  "sandbox.stopped": kept(moved),
  "sandbox.reset": kept(z.strictObject({ workspace: z.enum(["empty", "template"]) })),
  "sandbox.forked": kept(z.strictObject({ copies: count, ids: text, memory: flag })),
  "sandbox.changed": countedApart(kept(z.strictObject({ what: text }))),
  "sandbox.failed": kept(moved),
  "sandbox.destroyed": kept(moved),
  "sandbox.attached": local(z.strictObject({ engine })),
  "sandbox.detached": local(nothing),
  "sandbox.lost": local(z.strictObject({ reason: text })),

  "file.read": counted(
    logged(path.extend({ kind: z.enum(readKinds), files: count.optional(), snapshot_id: text.optional() })),
  ),
  "file.written": counted(logged(content)),
  "file.deleted": counted(logged(path.extend({ recursive: flag }))),
  "file.moved": counted(logged(z.strictObject({ from: text, to: text, replace: flag }))),
  "folder.created": counted(logged(path)),
  "archive.unpacked": counted(logged(content)),
  "signed_url.created": countedApart(logged(path.extend({ method: text, expires_at: text }))),
  "output.copied": kept(z.strictObject({ folder: text, files: count, bytes: count, skipped: count, whole: flag })),
  "output.failed": kept(z.strictObject({ folder: text, reason: text })),
  "artifacts.kept": kept(files.extend({ bytes: count, manifest: text, expires_at: z.iso.datetime() })),
  "artifacts.failed": kept(z.strictObject({ reason: text })),
  "artifacts.deleted": logged(files),
  "artifacts.expired": logged(files),

  "checkpoint.created": kept(checkpoint.extend({ memory_bytes: count })),
  "checkpoint.deleted": kept(checkpoint),
  "snapshot.created": kept(snapshot.extend({ manifest: text, files: count, total_bytes: count, added_bytes: count })),
  "snapshot.restored": kept(snapshot.extend({ removed: count, written: count, changed: count })),
  "snapshot.deleted": kept(snapshot),
  "skill.created": logged(skill.extend({ files: count })),
  "skill.installed": kept(skill),
  "skill.deleted": logged(skill),
  "image.requested": logged(image.extend({ source: text, digest: text })),
  "image.building": live(image.extend({ step: text, at: count, of: count })),
  "image.ready": kept(image.extend({ bytes: count })),
  "image.failed": kept(image.extend({ step: text.nullable() })),
  "image.deleted": kept(image),
  "template.requested": logged(template.extend({ image: text, engine })),
  "template.building": live(template.extend({ step: text })),
  "template.ready": kept(template.extend({ memory: flag })),
  "template.failed": kept(template.extend({ step: text.nullable() })),
  "template.deleted": kept(template),

  "server.deployed": kept(serverVersion.extend({ held: flag, rollback: flag })),
  "server.failed": kept(serverVersion.extend({ step: text.nullable() })),
  "server.started": kept(serverVersion),
  "server.stopped": kept(server.extend({ reason: text })),
  "server.crashed": kept(server.extend({ reason: text, failures: count, crash_loop: flag })),
  "server.changed": kept(server.extend({ what: text })),
  "server.confirmed": kept(serverVersion),
  "server.removed": kept(server),

  "secret.put": logged(version),
  "secret.deleted": logged(secret),
  "secret.bound": logged(
    secret.extend({
      binding_id: text,
      as: z.enum(["file", "env", "header"]),
      sandbox_id: text.optional(),
      key_id: text.optional(),
      server_id: text.optional(),
      all: z.literal("namespace").optional(),
    }),
  ),
  "secret.unbound": logged(secret.extend({ binding_id: text })),
  "secret.lent": logged(version.extend({ registry: text })),
  "secret.expired": logged(version),
  "secret.spent": logged(version),
  "secret.probing": kept(nothing),
  "secret.echoed": kept(secret.extend({ host: text })),
  "vault.rotated": logged(key),

  "egress.allowed": countedApart(logged(connection)),
  "egress.failed": counted(logged(connection)),
  "egress.ended": local(
    z.strictObject({
      attempt_id: text,
      bytes_up: count,
      bytes_down: count,
      duration_ms: count,
      reason: text.nullable(),
    }),
  ),
  "egress.changed": kept(
    z.strictObject({
      allow: count,
      deny: count,
      unknown: text.nullable(),
      bytes_per_second: count.nullable(),
      policy_sha256: text,
      allow_added: rules,
      allow_removed: rules,
      deny_added: rules,
      deny_removed: rules,
      agents_may_allow_added: rules,
      agents_may_allow_removed: rules,
    }),
  ),
  "approval.requested": kept(asked),
  "approval.approved": kept(answered),
  "approval.denied": kept(answered),
  "approval.expired": kept(answered),
  "approval.cancelled": kept(answered),
  "approval.revoked": kept(answered),
  "approval.used": logged(answered),
  "approval.known": logged(answered.extend({ state: z.enum(approvalStates) })),

  "port.shared": logged(z.strictObject({ port: count, visibility: text })),
  "port.link": countedApart(logged(z.strictObject({ port: count, expires_at: text }))),
  "port.request": counted(logged(z.strictObject({ port: count, method: text }))),
  "key.created": kept(key.extend({ role: z.enum(roles), scopes: z.array(text).optional() })),
  "key.revoked": kept(key),
  "access.denied": counted(logged(z.strictObject({ method: text, route: text, role: z.enum(roles) }))),
  "webhook.created": logged(webhook.extend({ host: text })),
  "webhook.deleted": logged(webhook),
  "webhook.retried": logged(webhook.extend({ delivery_id: text })),
  "webhook.failed": live(webhook.extend({ type: text, reason: text })),
  "host.started": logged(hostCommand.extend({ rule: text.nullable(), approval_id: text.nullable() })),
  "host.completed": logged(
    hostCommand.extend({ exit_code: count.nullable(), signal: text.nullable(), timed_out: flag, duration_ms: count }),
  ),
  "host.denied": counted(logged(hostCommand.extend(hostRefusal))),
  "host.failed": counted(
    logged(
      hostCommand.partial().extend({
        path: text.optional(),
        bytes: count.optional(),
        sha256: text.optional(),
        action: text.optional(),
        ...hostRefusal,
      }),
    ),
  ),
  "host.read": counted(logged(path)),
  "host.listed": counted(logged(path)),
  "host.written": logged(path.extend({ bytes: count, sha256: text })),

  "disk.low": live(nothing),
  "disk.recovered": live(nothing),
  "gc.started": logged(z.strictObject({ trigger: z.enum(gcTriggers) })),
  "gc.completed": kept(z.strictObject({ trigger: z.enum(gcTriggers), freed_items: count, freed_bytes: count })),
  "audit.counting": logged(z.strictObject({ rows: count })),
  "audit.repeated": kept(
    z.strictObject({
      type: text,
      count,
      first_at: z.iso.datetime(),
      last_at: z.iso.datetime(),
      details_sha256: text,
    }),
  ),
  "audit.content": logged(z.strictObject({ position: count, kind: z.enum(["redacted", "full"]) })),
  "audit.exported": logged(z.strictObject({ format: text })),
  "audit.pruned": logged(
    z.strictObject({ through: count, rows: count, before_ms: count, reason: z.enum(["age", "size"]) }),
  ),
  "audit.filling": kept(chainSize),
  "audit.full": kept(chainSize),
  "audit.broken": logged(z.strictObject({ what: text })),
} as const satisfies Readonly<Record<string, EventKind>>;
