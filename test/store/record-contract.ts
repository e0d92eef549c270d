import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ApiKey } from "../../packages/server/src/core/api-key.ts";
import type { KeptArtifacts } from "../../packages/server/src/core/kept-artifacts.ts";
import type { SkillRecord } from "../../packages/server/src/core/skill.ts";
import type { SnapshotRecord } from "../../packages/server/src/core/snapshot.ts";
import type { RecordStore, Store } from "../../packages/server/src/store/store.ts";
import { approvalContract } from "./approval-contract.ts";
import { checkpointContract } from "./checkpoint-contract.ts";
import { egressContract } from "./egress-contract.ts";
import { sandboxRecord } from "./entries.ts";
import { imageContract } from "./image-contract.ts";
import { packageContract } from "./package-contract.ts";
import { runContract } from "./run-contract.ts";
import { secretContract } from "./secret-contract.ts";
import { serverContract } from "./server-contract.ts";
import { templateContract } from "./template-contract.ts";

/** An empty store, which can be closed and opened again. */
export interface StoreUnderTest<S = Store> extends AsyncDisposable {
  clock: { nowMs: number };
  open(): Promise<S>;
}

export function apiKey(id: string, more: Partial<ApiKey> = {}): ApiKey {
  return {
    id,
    name: `key ${id}`,
    namespace: "default",
    role: "agent",
    scopes: null,
    hash: `hash-${id}`,
    createdAtMs: 1_000,
    expiresAtMs: null,
    revokedAtMs: null,
    lastUsedAtMs: null,
    ...more,
  };
}

function snapshotRecord(id: string, more: Partial<SnapshotRecord> = {}): SnapshotRecord {
  return {
    id,
    namespace: "default",
    sandboxId: "box-1",
    description: "",
    createdAtMs: 1_000,
    createdBy: "key-1",
    manifest: "0".repeat(64),
    files: 1,
    folders: 2,
    links: 3,
    totalBytes: 2 ** 40,
    addedBytes: 4,
    skipped: 5,
    unreadable: 6,
    changed: 7,
    serverId: null,
    ...more,
  };
}

function skillRecord(id: string, more: Partial<SkillRecord> = {}): SkillRecord {
  return {
    id,
    namespace: "default",
    name: "data-analyzer",
    version: id,
    description: "looks at data",
    files: 2,
    totalBytes: 100,
    createdAtMs: 1_000,
    createdBy: "key-1",
    ...more,
  };
}

/** What the records of every store do, whatever it is made of. */
export function recordContract(name: string, make: () => Promise<StoreUnderTest<RecordStore & AsyncDisposable>>): void {
  let under: StoreUnderTest<RecordStore & AsyncDisposable>;
  let store: RecordStore & AsyncDisposable;
  beforeEach(async () => {
    under = await make();
    store = await under.open();
  });
  afterEach(async () => {
    await store[Symbol.asyncDispose]();
    await under[Symbol.asyncDispose]();
  });
  const reopen = async () => {
    await store[Symbol.asyncDispose]();
    store = await under.open();
  };

  describe(`${name}: sandboxes`, () => {
    it("come back as they were put in, also after the store was closed", async () => {
      const record = sandboxRecord("one", { labels: { team: "ü\u{1f600}" }, sessionKey: "s", pausedAtMs: 5 });
      await store.sandboxes.insert(record);
      expect(await store.sandboxes.get("one")).toEqual(record);
      await reopen();
      expect(await store.sandboxes.get("one")).toEqual(record);
      expect(await store.sandboxes.get("two")).toBeUndefined();
    });

    it("change in the fields that are named and in no others", async () => {
      const record = sandboxRecord("one");
      await store.sandboxes.insert(record);
      await store.sandboxes.update("one", { status: "paused", pausedAtMs: 7, limits: { ...record.limits, cpus: 2 } });
      const changed = { ...record, status: "paused", pausedAtMs: 7, limits: { ...record.limits, cpus: 2 } };
      expect(await store.sandboxes.get("one")).toEqual(changed);
      await store.sandboxes.update("one", { pausedAtMs: null });
      expect(await store.sandboxes.get("one")).toEqual({ ...changed, pausedAtMs: null });
    });

    it("cannot be changed when they are not there", async () => {
      await store.sandboxes.insert(sandboxRecord("one"));
      await expect(store.sandboxes.update("two", { failure: "x" })).rejects.toMatchObject({ code: "not_found" });
    });

    it("are listed newest first, page by page, by namespace, state and session", async () => {
      const records = Array.from({ length: 7 }, (_, at) =>
        sandboxRecord(`s${at}`, { createdAtMs: 1_000 + Math.floor(at / 2), namespace: at === 3 ? "other" : "default" }),
      );
      for (const record of records) await store.sandboxes.insert(record);
      await store.sandboxes.update("s6", { status: "stopped", sessionKey: "mine" });
      const ids: string[] = [];
      let cursor: string | undefined;
      for (;;) {
        const page = await store.sandboxes.list({
          namespace: "default",
          limit: 2,
          ...(cursor === undefined ? {} : { cursor }),
        });
        ids.push(...page.map(({ id }) => id));
        cursor = page.at(-1)?.id;
        if (page.length < 2) break;
      }
      expect(ids).toEqual(["s6", "s5", "s4", "s2", "s1", "s0"]);
      const idsOf = async (query: object) => (await store.sandboxes.list({ limit: 9, ...query })).map(({ id }) => id);
      expect(await idsOf({ namespace: "other" })).toEqual(["s3"]);
      expect(await idsOf({ status: "stopped" })).toEqual(["s6"]);
      expect(await idsOf({ namespace: "default", sessionKey: "mine" })).toEqual(["s6"]);
      await expect(store.sandboxes.list({ limit: 1, cursor: "gone" })).rejects.toMatchObject({ code: "not_found" });
    });

    it("live until they are destroyed, and can be forgotten", async () => {
      for (const id of ["a", "b", "c"]) await store.sandboxes.insert(sandboxRecord(id));
      await store.sandboxes.update("b", { status: "destroyed" });
      await store.sandboxes.delete("c");
      expect((await store.sandboxes.living()).map(({ id }) => id)).toEqual(["a"]);
      expect(await store.sandboxes.get("b")).toMatchObject({ status: "destroyed" });
      expect(await store.sandboxes.get("c")).toBeUndefined();
    });
  });

  describe(`${name}: keys`, () => {
    it("are found by id and by hash, and listed by namespace", async () => {
      const scopes = ["read", "server:0123456789abcdef:get_data"] as const;
      const [one, two] = [apiKey("1"), apiKey("2", { namespace: "other", createdAtMs: 2_000, scopes })];
      await store.keys.insert(one);
      await store.keys.insert(two);
      expect(await store.keys.byHash("hash-2")).toEqual(two);
      expect(await store.keys.get("1")).toEqual(one);
      expect(await store.keys.byHash("hash-3")).toBeUndefined();
      expect(await store.keys.list()).toEqual([one, two]);
      expect(await store.keys.list("other")).toEqual([two]);
    });

    it("are revoked for good, and no two have the same hash", async () => {
      await store.keys.insert(apiKey("1"));
      await store.keys.update("1", { revokedAtMs: 9 });
      await reopen();
      expect(await store.keys.get("1")).toMatchObject({ revokedAtMs: 9, lastUsedAtMs: null });
      await expect(store.keys.insert(apiKey("2", { hash: "hash-1" }))).rejects.toMatchObject({ code: "conflict" });
      await expect(store.keys.update("2", { revokedAtMs: 1 })).rejects.toMatchObject({ code: "not_found" });
    });
  });

  describe(`${name}: webhooks`, () => {
    it("tell how many deliveries each of them waits for", async () => {
      const { webhooks } = store;
      for (const id of ["one", "two", "none"])
        await webhooks.insert({
          id,
          namespace: "default",
          url: "http://x",
          types: [],
          secret: "s",
          createdAtMs: 1,
          position: 1,
        });
      for (const [id, webhookId, state] of [
        ["a", "one", "pending"],
        ["b", "one", "pending"],
        ["c", "one", "delivered"],
        ["d", "two", "pending"],
        ["e", "none", "dead"],
      ] as const) {
        const times = { createdAtMs: 1, dueAtMs: 1, attempts: 0, lastError: null };
        await webhooks.enqueue({ id, webhookId, state, namespace: "default", type: "key.created", body: "", ...times });
      }
      expect(await webhooks.countPending()).toEqual(new Map(Object.entries({ one: 2, two: 1 })));
    });
  });

  describe(`${name}: answers to named requests`, () => {
    const record = { name: "n", requestHash: "h", status: 201, body: '{"id":1}' };
    const dayMs = 86_400_000;

    it("are given again, and the first one of a name stays", async () => {
      await store.idempotency.put(record);
      await Promise.all([500, 501].map((status) => store.idempotency.put({ ...record, status })));
      await reopen();
      expect(await store.idempotency.get("n")).toEqual(record);
      expect(await store.idempotency.get("m")).toBeUndefined();
    });

    it("are kept for a day, and then make room for another", async () => {
      await store.idempotency.put(record);
      under.clock.nowMs += dayMs - 1;
      expect(await store.idempotency.get("n")).toEqual(record);
      under.clock.nowMs += 1;
      expect(await store.idempotency.get("n")).toBeUndefined();
      await store.idempotency.put({ ...record, status: 409 });
      expect(await store.idempotency.get("n")).toEqual({ ...record, status: 409 });
    });
  });

  describe(`${name}: snapshots and skills`, () => {
    it("come back as they were put in, and can be deleted", async () => {
      const snapshot = snapshotRecord("one", { description: "before\n\u{1f600}" });
      const skill = skillRecord("abc");
      await store.snapshots.insert(snapshot);
      expect(await store.skills.insert(skill)).toBe(true);
      expect(await store.skills.insert({ ...skill, description: "again" })).toBe(false);
      expect(await store.skills.insert({ ...skill, id: "other files" })).toBe(false);
      await reopen();
      expect(await store.snapshots.get("one")).toEqual(snapshot);
      expect(await store.skills.get("default", "abc")).toEqual(skill);
      expect(await store.skills.get("other", "abc")).toBeUndefined();
      await store.skills.delete("other", "abc");
      expect(await store.skills.get("default", "abc")).toEqual(skill);
      await store.snapshots.delete("one");
      await store.skills.delete("default", "abc");
      expect(await store.snapshots.get("one")).toBeUndefined();
      expect(await store.skills.get("default", "abc")).toBeUndefined();
    });

    it("are listed newest first, page by page, and counted, by namespace and sandbox", async () => {
      for (let at = 0; at < 5; at++) {
        const more = { createdAtMs: 1_000 + Math.floor(at / 2), namespace: at === 3 ? "other" : "default" };
        await store.snapshots.insert(snapshotRecord(`s${at}`, { ...more, sandboxId: at === 4 ? "box-2" : "box-1" }));
        await store.skills.insert(skillRecord(`k${at}`, { ...more, name: at === 4 ? "b" : "a" }));
      }
      const namespace = "default";
      const serverId = null;
      const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
      expect(ids(await store.snapshots.list({ namespace, serverId, limit: 2 }))).toEqual(["s4", "s2"]);
      expect(ids(await store.snapshots.list({ namespace, serverId, cursor: "s2", limit: 2 }))).toEqual(["s1", "s0"]);
      expect(ids(await store.snapshots.list({ namespace, serverId, sandboxId: "box-2", limit: 9 }))).toEqual(["s4"]);
      expect(await store.snapshots.usage({ namespace })).toEqual({ count: 4, addedBytes: 16 });
      expect(await store.snapshots.usage({ namespace, sandboxId: "box-2" })).toEqual({ count: 1, addedBytes: 4 });
      expect(await store.snapshots.usage({ namespace: "none" })).toEqual({ count: 0, addedBytes: 0 });
      expect(ids(await store.skills.list({ namespace, limit: 2 }))).toEqual(["k4", "k2"]);
      expect(ids(await store.skills.list({ namespace, cursor: "k2", limit: 2 }))).toEqual(["k1", "k0"]);
      expect(ids(await store.skills.list({ namespace, name: "b", limit: 9 }))).toEqual(["k4"]);
      expect(ids(await store.skills.list({ namespace, name: "a", version: "k1", limit: 9 }))).toEqual(["k1"]);
      expect(await store.skills.count(namespace)).toBe(4);
      for (const cursor of ["s3", "gone"])
        await expect(store.snapshots.list({ namespace, serverId, cursor, limit: 9 })).rejects.toMatchObject({
          code: "not_found",
        });
    });

    it("of a hosted server are in its list alone", async () => {
      await store.snapshots.insert(snapshotRecord("own", { serverId: "server" }));
      await store.snapshots.insert(snapshotRecord("plain"));
      const idsOf = async (serverId: string | null) =>
        (await store.snapshots.list({ namespace: "default", serverId, limit: 9 })).map(({ id }) => id);
      expect(await idsOf("server")).toEqual(["own"]);
      expect(await idsOf(null)).toEqual(["plain"]);
      expect(await idsOf("another")).toEqual([]);
    });

    it("tell every manifest there is, of all namespaces, once", async () => {
      await store.snapshots.insert(snapshotRecord("one", { manifest: "m1" }));
      await store.snapshots.insert(snapshotRecord("two", { manifest: "m1", namespace: "other" }));
      await store.skills.insert(skillRecord("k1"));
      await store.skills.insert(skillRecord("k1", { namespace: "other" }));
      expect(await store.snapshots.manifests()).toEqual(["m1"]);
      expect(await store.skills.manifests()).toEqual(["k1"]);
    });

    it("keep the artifacts of a sandbox until their time is over", async () => {
      const kept: KeptArtifacts = {
        id: "box-1",
        namespace: "default",
        manifest: "a".repeat(64),
        files: 2,
        totalBytes: 2 ** 40,
        createdAtMs: 1_000,
        expiresAtMs: 5_000,
        createdBy: "key-1",
      };
      await store.artifacts.put({ ...kept, files: 1 });
      await store.artifacts.put(kept);
      await store.artifacts.put({ ...kept, id: "box-2", namespace: "other", createdAtMs: 2_000, expiresAtMs: 9_000 });
      expect(await store.artifacts.get("box-1")).toEqual(kept);
      expect((await store.artifacts.list({ namespace: "default", limit: 10 })).map(({ id }) => id)).toEqual(["box-1"]);
      expect(await store.artifacts.list({ namespace: "default", limit: 10, cursor: "box-1" })).toEqual([]);
      expect(await store.artifacts.usage("default")).toEqual({ count: 1, totalBytes: 2 ** 40 });
      expect(await store.artifacts.manifests()).toEqual([kept.manifest]);
      expect(await store.artifacts.expired(4_999)).toEqual([]);
      expect((await store.artifacts.expired(5_000)).map(({ id }) => id)).toEqual(["box-1"]);
      await store.artifacts.put({ ...kept, id: "box-2", manifest: "later", createdAtMs: 2_000, expiresAtMs: 9_000 });
      expect(await store.artifacts.manifests(5_000)).toEqual(["later"]);
      await store.artifacts.delete("box-2", 8_999);
      await store.artifacts.delete("box-1", 5_000);
      expect(await store.artifacts.manifests()).toEqual(["later"]);
      expect(await store.artifacts.get("box-1")).toBeUndefined();
    });
  });

  egressContract(name, () => store, reopen);
  secretContract(name, () => store, reopen);
  approvalContract(name, () => store, reopen);
  packageContract(name, () => store, reopen);
  imageContract(name, () => store, reopen);
  templateContract(name, () => store, reopen);
  serverContract(name, () => store, reopen);
  checkpointContract(name, () => store, reopen);
  runContract(name, () => store, reopen);
}
