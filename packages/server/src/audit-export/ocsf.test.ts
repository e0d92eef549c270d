import { describe, expect, it } from "vitest";
import type { AuditRow } from "../core/audit.ts";
import { events } from "../core/events.ts";
import { toOcsf } from "./ocsf.ts";

function row(type: string, detail: AuditRow["detail"] = {}): AuditRow {
  return {
    position: 9,
    sequence: 7,
    atMs: 1_750_000_000_000,
    type,
    namespace: "default",
    actor: "key-1",
    sandboxId: "s1",
    requestId: "r1",
    runId: null,
    detail,
    hash: "ab",
  };
}

/** Required attributes of version 1.3, by class; those of all classes under 0. A dot leads into an object. */
const required: Record<number, string[]> = {
  0: [
    "activity_id",
    "category_uid",
    "class_uid",
    "type_uid",
    "time",
    "severity_id",
    "metadata.version",
    "metadata.product.name",
  ],
  1001: ["actor.user.uid", "device.type_id", "file.name", "file.type_id"],
  1007: ["actor.user.uid", "device.type_id", "process.uid"],
  2004: ["finding_info.uid", "finding_info.title"],
  3001: ["user.uid"],
  4001: ["dst_endpoint.port"],
  6003: ["actor.user.uid", "api.operation", "src_endpoint.uid"],
};
/** activity_id of each class. */
const activities: Record<number, number[]> = {
  1001: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 99],
  1007: [0, 1, 2, 3, 4, 5, 99],
  2004: [0, 1, 2, 3, 99],
  3001: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 99],
  4001: [0, 1, 2, 3, 4, 5, 6, 99],
  6003: [0, 1, 2, 3, 4, 99],
};

function at(event: unknown, path: string): unknown {
  return path.split(".").reduce((value, key) => (value as Record<string, unknown> | undefined)?.[key], event);
}

const types = [...Object.keys(events), "something.else", "odd"];

describe("an entry as an event of OCSF", () => {
  it.each(types)("[AUD-05] has what its class requires: %s", (type) => {
    const event = toOcsf(row(type));
    const uid = Number(event.class_uid);
    expect(required[uid]).toBeDefined();
    const missing = [...(required[0] ?? []), ...(required[uid] ?? [])].filter((path) => at(event, path) === undefined);
    expect(missing).toEqual([]);
    expect(activities[uid]).toContain(event.activity_id);
    expect(event.category_uid).toBe(Math.floor(uid / 1000));
    expect(event.type_uid).toBe(uid * 100 + Number(event.activity_id));
  });

  it("[AUD-05] says which file was written, with its hash", () => {
    const event = toOcsf(row("file.written", { path: "a/b.txt", size_bytes: 5, sha256: "00ff" }));
    expect(event).toMatchObject({
      class_uid: 1001,
      activity_id: 3,
      file: { name: "b.txt", path: "a/b.txt", size: 5, hashes: [{ algorithm_id: 3, value: "00ff" }] },
      device: { uid: "s1" },
    });
  });

  it("[AUD-05] says which file or folder was read, and which tool was called", () => {
    const read = (kind: string) => toOcsf(row("file.read", { path: "a/b", kind }));
    expect(read("content")).toMatchObject({ class_uid: 1001, activity_id: 2, file: { path: "a/b", type_id: 1 } });
    expect(read("archive")).toMatchObject({ class_uid: 1001, activity_id: 2, file: { path: "a/b", type_id: 2 } });
    const called = (verdict: string) => toOcsf(row("tool.called", { tool: "read_file", verdict }));
    expect(called("ok")).toMatchObject({ class_uid: 6003, status_id: 1, api: { operation: "read_file" } });
    expect(called("denied")).toMatchObject({ class_uid: 6003, status_id: 2 });
  });

  it("[AUD-05] says which host was reached, and which was refused", () => {
    const detail = { host: "api.example.com", port: 443, address: "192.0.2.1" };
    expect(toOcsf(row("egress.allowed", detail))).toMatchObject({
      ...{ class_uid: 4001, activity_id: 1, status_id: 1 },
      dst_endpoint: { hostname: "api.example.com", ip: "192.0.2.1", port: 443 },
      src_endpoint: { uid: "s1" },
    });
    expect(toOcsf(row("egress.denied", { ...detail, address: null }))).toMatchObject({
      ...{ class_uid: 4001, activity_id: 5, status_id: 2 },
      dst_endpoint: { hostname: "api.example.com", port: 443 },
    });
  });

  it("[AUD-05] says what ran, how it ended, and what was refused", () => {
    expect(toOcsf(row("execution.completed", { id: "p1", exit_code: 3 }))).toMatchObject({
      class_uid: 1007,
      activity_id: 2,
      exit_code: 3,
      process: { uid: "p1" },
      status_id: 1,
    });
    expect(toOcsf(row("access.denied"))).toMatchObject({ class_uid: 6003, status_id: 2, severity_id: 3 });
    expect(toOcsf(row("key.revoked", { key_id: "k9" }))).toMatchObject({ class_uid: 3001, user: { uid: "k9" } });
    expect(toOcsf(row("audit.broken"))).toMatchObject({ class_uid: 2004, severity_id: 5 });
  });
});
