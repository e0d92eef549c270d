import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AuditContent } from "../../packages/server/src/core/audit.ts";
import { auditLimits } from "../../packages/server/src/store/limits.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry } from "./entries.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-content-");
  path = join(folder, "caisson.db");
});
afterEach(() => rm(folder, { recursive: true }));

const content = (text: string): AuditContent => ({ kind: "full", arguments: text, result: "{}", truncated: false });

describe("content beside rows of the audit log", () => {
  it("[S105] [AUD-03] is erased while its row stays, and the chain verifies as before", async () => {
    const clock = { wallMs: () => nowMs, monotonicMs: () => 0 };
    let nowMs = 1_000;
    {
      await using store = await openStore({ path, clock });
      await store.audit.record({ ...auditEntry(), content: content("an old secret word") });
      nowMs = 2_000;
      await store.audit.record({ ...auditEntry(), content: content("a young one") });
      const before = (await store.audit.search({ after: 0 })).map(({ hash }) => hash);
      expect(await store.audit.content(1)).toEqual(content("an old secret word"));
      expect(await store.audit.eraseContent(2_000)).toBe(1);
      expect([await store.audit.content(1), await store.audit.content(2)]).toEqual([undefined, content("a young one")]);
      expect((await store.audit.search({ after: 0 })).map(({ hash }) => hash)).toEqual(before);
      expect(await store.audit.verify()).toMatchObject({ ok: true, rows: 2 });
    }
    const file = await readFile(path);
    expect([file.includes("an old secret word"), file.includes("a young one")]).toEqual([false, true]);
  });

  it("[S105] is read in its own namespace alone, and goes with its row", async () => {
    await using store = await openStore({ path });
    await store.audit.record({ ...auditEntry({ namespace: "a" }), content: content("of a") });
    await store.audit.record(auditEntry({ namespace: "a" }));
    expect(await store.audit.content(1, "b")).toBeUndefined();
    expect(await store.audit.content(1, "a")).toEqual(content("of a"));
    expect(await store.audit.content(2, "a")).toBeUndefined();
    await store.audit.prune(() => Number.MAX_SAFE_INTEGER);
    expect(await store.audit.content(1, "a")).toBeUndefined();
  });

  it("[S105] of one namespace is bounded: the oldest makes room, and another's stays", async () => {
    await using store = await openStore({ path });
    await store.audit.record({ ...auditEntry({ namespace: "b" }), content: content("of b") });
    const large = "x".repeat(auditLimits.contentBytes / 4);
    for (let at = 0; at < 6; at++)
      await store.audit.record({ ...auditEntry({ namespace: "a" }), content: content(large) });
    const kept = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((position) => store.audit.content(position)));
    expect(kept.map((one) => one !== undefined)).toEqual([true, false, false, true, true, true, true]);
    await store.audit.record({ ...auditEntry({ namespace: "a" }), content: content("small") });
    expect(await store.audit.content(8)).toEqual(content("small"));
  });
});
