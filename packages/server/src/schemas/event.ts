import { z } from "zod";
import { approvalKinds, approvalScopes } from "../core/approval.ts";
import { errorCodes } from "../core/errors.ts";
import { type FeedType, feedTypes } from "../core/feed.ts";
import { gcTriggers } from "../core/gc.ts";
import { sandboxStates } from "../core/lifecycle.ts";
import { roles } from "../core/principal.ts";
import { runEnds } from "../core/run-end.ts";

const text = z.string();
const count = z.number();
const state = z.enum(sandboxStates);

const moved = z.strictObject({ from: state, to: state, reason: text.optional() });
const session = z.strictObject({ session_key: text });
const checkpoint = z.strictObject({ checkpoint_id: text });
const snapshot = z.strictObject({ snapshot_id: text });
const image = z.strictObject({ image_id: text, name: text });
const template = z.strictObject({ template_id: text, name: text });
const nothing = z.strictObject({});

const approval = z.strictObject({
  approval_id: text,
  kind: z.enum(approvalKinds),
  subject: text.nullable().describe("null where it could be content: a command, a path of the host"),
});
const asked = approval.extend({ expires_at: z.iso.datetime() });
const answered = approval.extend({
  scope: z.enum(approvalScopes).nullable(),
  reason: text.nullable(),
  decided_by: text.nullable(),
});

/** What `data` holds, type by type: what the OpenAPI document and docs/events.md say of them. */
export const eventData = {
  "execution.started": z.strictObject({ run_id: text }),
  "execution.completed": z.strictObject({ run_id: text, exit_code: count, duration_ms: count }),
  "execution.failed": z.strictObject({
    run_id: text,
    exit_code: count.nullable(),
    duration_ms: count,
    error_code: z.enum(errorCodes).nullable(),
    ended_by: z.enum(runEnds).nullable(),
  }),
  "execution.timeout": z.strictObject({ run_id: text, duration_ms: count }),
  "session.created": session,
  "session.killed": session,
  "package.installed": z.strictObject({ manager: text, name: text, version: text, hash: text.nullable() }),
  "egress.requested": asked,
  "egress.approved": z.union([
    answered,
    z.strictObject({ rule: text, scope: z.enum(["namespace", "sandbox"]), by: text }),
  ]),
  "egress.denied": z.union([
    answered,
    z.strictObject({ host: text, port: count, rule: text.nullable(), reason: text.nullable() }),
  ]),
  "vault.accessed": z.strictObject({ secret: text, as: z.enum(["file", "env", "header"]) }),
  "secret.probing": z.strictObject({}),
  "secret.echoed": z.strictObject({ secret: text, host: text }),
  "resource.exceeded": z.strictObject({ run_id: text, resource: z.enum(["memory", "cpu_time"]) }),
  "artifact.signed": z.strictObject({ files: count }),
  "queue.backpressure": z.strictObject({ waiting: count }),
  "sandbox.created": z.strictObject({
    status: state,
    engine: z.enum(["gvisor", "container"]),
    image: text,
    origin: text,
    memory_bytes: count.optional(),
    cpus: count.optional(),
    processes: count.optional(),
    storage_bytes: count.optional(),
    snapshot_id: text.nullable().optional(),
    input_folder: text.nullable().optional(),
    output_folder: text.nullable().optional(),
    template_id: text.nullable().optional(),
    for_template: z.literal(true).optional(),
  }),
  "sandbox.started": moved,
  "sandbox.paused": moved,
  "sandbox.resumed": moved,
  "sandbox.stopped": moved,
  "sandbox.reset": z.strictObject({ workspace: z.enum(["empty", "template"]) }),
  "sandbox.forked": z.strictObject({ copies: count, ids: text, memory: z.boolean() }),
  "sandbox.changed": z.strictObject({ what: text }),
  "sandbox.failed": moved,
  "sandbox.destroyed": moved,
  "output.copied": z.strictObject({ folder: text, files: count, bytes: count, skipped: count, whole: z.boolean() }),
  "output.failed": z.strictObject({ folder: text, reason: text }),
  "artifacts.kept": z.strictObject({ files: count, bytes: count, manifest: text, expires_at: z.iso.datetime() }),
  "artifacts.failed": z.strictObject({ reason: text }),
  "checkpoint.created": checkpoint.extend({ memory_bytes: count }),
  "checkpoint.deleted": checkpoint,
  "snapshot.created": snapshot.extend({ manifest: text, files: count, total_bytes: count, added_bytes: count }),
  "snapshot.restored": snapshot.extend({ removed: count, written: count, changed: count }),
  "snapshot.deleted": snapshot,
  "skill.installed": z.strictObject({ skill_id: text, name: text, version: text }),
  "image.building": image.extend({ step: text, at: count, of: count }),
  "image.ready": image.extend({ bytes: count }),
  "image.failed": image.extend({ step: text.nullable() }),
  "image.deleted": image,
  "template.building": template.extend({ step: text }),
  "template.ready": template.extend({ memory: z.boolean() }),
  "template.failed": template.extend({ step: text.nullable() }),
  "template.deleted": template,
  "disk.low": nothing,
  "disk.recovered": nothing,
  "gc.completed": z.strictObject({ trigger: z.enum(gcTriggers), freed_items: count, freed_bytes: count }),
  "record.failed": z.strictObject({ run_id: text, reason: text }),
  "webhook.failed": z.strictObject({ webhook_id: text, type: z.enum(feedTypes), reason: text }),
  "key.created": z.strictObject({ key_id: text, role: z.enum(roles) }),
  "key.revoked": z.strictObject({ key_id: text }),
  "approval.requested": asked,
  "approval.approved": answered,
  "approval.denied": answered,
  "approval.expired": answered,
  "approval.cancelled": answered,
  "approval.revoked": answered,
} satisfies Readonly<Record<FeedType, z.ZodType>>;
