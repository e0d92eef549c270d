import { describe, expect, it } from "vitest";
import type { ServerRecord, ServerVersion } from "../../packages/server/src/core/server.ts";
import type { RecordStore } from "../../packages/server/src/store/store.ts";

const config: ServerRecord["config"] = {
  command: null,
  port: 8_000,
  image: "mcp-runtime",
  env: { ü: "\u{1f600}" },
  secrets: ["TOKEN"],
  network: { allow: ["api.example.com"] },
  limits: { memoryBytes: 512 },
  idleTimeoutMs: 1_000,
};

function server(id: string, more: Partial<ServerRecord> = {}): ServerRecord {
  const made = { createdAtMs: 1_000, createdBy: "key-1" };
  return {
    id,
    namespace: "default",
    name: id,
    config,
    current: null,
    newest: 0,
    savedSnapshotId: null,
    ...made,
    ...more,
  };
}

function version(serverId: string, number: number, more: Partial<ServerVersion> = {}): ServerVersion {
  return {
    ...{ serverId, number, state: "building", step: "unpack", error: null, held: false, source: { kind: "archive" } },
    ...{ sourceDigest: "s", inputsDigest: "i", image: null, layerId: null, bytes: 0, command: [], contact: null },
    ...{ packages: [], dataSnapshotId: null, createdAtMs: 1_000, createdBy: "key-1", ...more },
  };
}

/** Claims about the records of hosted servers and their versions, for every store. */
export function serverContract(name: string, store: () => RecordStore, reopen: () => Promise<void>): void {
  describe(`${name}: hosted servers`, () => {
    it("come back as they were put in and changed, newest first, until they are deleted", async () => {
      const { servers } = store();
      await servers.insert(server("old"));
      await servers.insert(server("new", { createdAtMs: 2_000, namespace: "other" }));
      const changes = {
        current: 2,
        newest: 3,
        savedSnapshotId: "snapshot",
        config: { ...config, command: ["python", "a b"] },
        name: "renamed",
      };
      await servers.update("old", changes);
      await reopen();
      expect(await store().servers.list()).toEqual([
        server("new", { createdAtMs: 2_000, namespace: "other" }),
        { ...server("old"), ...changes },
      ]);
      await store().servers.delete("new");
      await store().servers.delete("never");
      expect((await store().servers.list()).map(({ id }) => id)).toEqual(["old"]);
    });

    it("have versions of their own, which go with them", async () => {
      const { servers } = store();
      await servers.insert(server("one"));
      await servers.insert(server("two"));
      await servers.insertVersion(version("one", 1, { held: true }));
      await servers.insertVersion(version("one", 2, { createdAtMs: 2_000 }));
      await servers.insertVersion(version("two", 1));
      const contact = {
        transport: "http",
        era: "legacy",
        protocolVersion: "2025-11-25",
        path: "/mcp",
        tools: 3,
      } as const;
      const ready = { state: "ready", step: null, layerId: "layer", bytes: 3 * 1024 ** 3, contact } as const;
      const more = { held: false, command: ["python", "server.py"], dataSnapshotId: "snapshot" };
      const resolved = { manager: "pip", name: "mcp", version: "1", sha256: null, claimed: true } as const;
      const changes = { ...ready, ...more, packages: [resolved], image: { name: "mcp-runtime", layerId: "root" } };
      await servers.updateVersion("one", 1, changes);
      await reopen();
      const after = await store().servers.versions();
      expect(after.map(({ serverId, number }) => `${serverId} ${number}`)[0]).toBe("one 2");
      expect(after.find(({ serverId, number }) => serverId === "one" && number === 1)).toEqual({
        ...version("one", 1),
        ...changes,
      });
      expect(after.find(({ serverId }) => serverId === "two")).toEqual(version("two", 1));
      await store().servers.deleteVersion("one", 2);
      expect(await store().servers.versions()).toHaveLength(2);
      await store().servers.delete("one");
      expect(await store().servers.versions()).toEqual([version("two", 1)]);
    });
  });
}
