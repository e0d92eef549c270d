import { basename } from "node:path";
import type { AuditRow } from "../core/audit.ts";
import { ocsfClasses, placeOf } from "./ocsf-class.ts";

const schemaVersion = "1.3.0";
const success = 1;
const failure = 2;
const severities = { informational: 1, medium: 3, critical: 5 };
/** device.type_id, file.type_id. */
const virtualDevice = 6;
const regularFile = 1;
const folder = 2;
/** Kinds of `file.read` entries about a folder. */
const foldersRead = /^(archive|search)$/;
const endings = /\.(denied|failed|timeout|broken|lost)$/;

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A call of a tool ends with a verdict, all else with its type. */
function hasFailed({ type, detail }: AuditRow): boolean {
  return endings.test(type) || (type === "tool.called" && detail.verdict !== "ok");
}

function severityOf(type: string): number {
  if (type === "audit.broken") return severities.critical;
  return endings.test(type) ? severities.medium : severities.informational;
}

function filePart({ type, detail }: AuditRow): object {
  const path = text(detail.path) ?? text(detail.from) ?? "/";
  const isFolder = type === "folder.created" || type === "archive.unpacked" || foldersRead.test(String(detail.kind));
  const kind = isFolder ? folder : regularFile;
  const hash = text(detail.sha256);
  const target = text(detail.to);
  return {
    file: {
      name: basename(path) || path,
      path,
      type_id: kind,
      ...(typeof detail.size_bytes === "number" ? { size: detail.size_bytes } : {}),
      ...(hash === undefined ? {} : { hashes: [{ algorithm_id: 3, algorithm: "SHA-256", value: hash }] }),
    },
    ...(target === undefined ? {} : { file_result: { name: basename(target) || target, path: target, type_id: kind } }),
  };
}

function processPart({ sequence, requestId, detail }: AuditRow): object {
  const uid = text(detail.process_id) ?? text(detail.id) ?? requestId ?? String(sequence);
  const exitCode = detail.exit_code;
  return { process: { uid }, ...(typeof exitCode === "number" ? { exit_code: exitCode } : {}) };
}

function networkPart({ detail }: AuditRow): object {
  const host = text(detail.host);
  const address = text(detail.address);
  return {
    dst_endpoint: {
      ...(host === undefined ? {} : { hostname: host }),
      ...(address === undefined ? {} : { ip: address }),
      port: typeof detail.port === "number" ? detail.port : 0,
    },
  };
}

/** What a class asks for beside the attributes of all. */
function partsOf(row: AuditRow): object {
  const { sandboxId, actor, type, sequence, detail } = row;
  const device = { type_id: virtualDevice, uid: sandboxId ?? "host", name: sandboxId ?? "host" };
  switch (placeOf(type).class) {
    case "file system activity":
      return { device, ...filePart(row) };
    case "process activity":
      return { device, ...processPart(row) };
    case "account change":
      return { user: { uid: text(detail.key_id) ?? "unknown", type_id: 99 } };
    case "detection finding":
      return { finding_info: { uid: `audit-${sequence}`, title: "The audit log was found broken" } };
    case "network activity":
      return { device, src_endpoint: { uid: sandboxId ?? "host" }, ...networkPart(row) };
    case "api activity":
      return {
        api: { operation: text(detail.tool) ?? type, service: { name: "caisson" } },
        src_endpoint: { uid: actor },
        ...(sandboxId === null ? {} : { resources: [{ uid: sandboxId, type: "sandbox" }] }),
      };
  }
}

/** A row as an event of OCSF (schema.ocsf.io), with what it has no place for under `unmapped`. */
export function toOcsf(row: AuditRow): Record<string, unknown> {
  const { class: name, activity } = placeOf(row.type);
  const { uid, category, name: className, categoryName } = ocsfClasses[name];
  return {
    activity_id: activity,
    category_uid: category,
    category_name: categoryName,
    class_uid: uid,
    class_name: className,
    type_uid: uid * 100 + activity,
    time: row.atMs,
    severity_id: severityOf(row.type),
    status_id: hasFailed(row) ? failure : success,
    message: row.type,
    actor: { user: { uid: row.actor } },
    metadata: {
      version: schemaVersion,
      product: { name: "Caisson", vendor_name: "Caisson" },
      log_name: "audit",
      sequence: row.sequence,
      tenant_uid: row.namespace,
      ...(row.requestId === null ? {} : { correlation_uid: row.requestId }),
    },
    ...partsOf(row),
    unmapped: { sandbox_id: row.sandboxId, hash: row.hash, detail: row.detail },
  };
}
