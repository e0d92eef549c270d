import { describe, expect, it } from "vitest";
import type { RunRecord } from "../../packages/server/src/core/run-record.ts";
import type { RecordStore } from "../../packages/server/src/store/store.ts";
import { sandboxRecord } from "./entries.ts";

const bounds = { keep: 100, sandboxBytes: 1_000_000, namespaceRecords: 100, namespaceBytes: 1_000_000 };

function run(run_id: string, sandbox_id: string, more: Partial<RunRecord> = {}): RunRecord {
  return {
    ...{ run_id, sandbox_id, engine: "container", started_at: new Date(1_000_000).toISOString(), command: "true" },
    ...{ language: null, outcome: "completed", ended_by: null, exit_code: 0, signal: null, duration_ms: 1, cpu_ms: 1 },
    ...{ timed_out: false, cpu_limit: false, oom_killed: false, stdout: "", stderr: "", truncated: false },
    ...{ files_changed: [], error: null },
    ...more,
  };
}

/** What the records of runs do, in every store. */
export function runContract(name: string, store: () => RecordStore, reopen: () => Promise<void>): void {
  describe(`${name}: records of runs`, () => {
    const idsOf = async (sandboxId: string) =>
      (await store().runs.list({ sandboxId, limit: 1_000 })).map(({ run_id }) => run_id).reverse();
    /** So many runs of a sandbox, and what bounding their namespace is told of them. */
    const add = async (namespace: string, sandboxId: string, count: number, more: Partial<RunRecord> = {}) => {
      let bytes = 0;
      for (let at = 0; at < count; at++)
        bytes += await store().runs.insert(namespace, run(`${sandboxId}-${at}`, sandboxId, more));
      return [sandboxId, { records: count, bytes }] as const;
    };
    const named = (sandboxId: string, from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => `${sandboxId}-${from + at}`);

    it("come back by sandbox and page, and one by its id in its own namespace", async () => {
      const hostile = run("odd", "a", { stdout: "\0 \ud800 \u{1f600}", files_changed: [] });
      await store().runs.insert("team", hostile);
      await add("team", "a", 3);
      await add("team", "b", 1);
      await reopen();
      expect(await idsOf("a")).toEqual(["odd", ...named("a", 0, 3)]);
      expect((await store().runs.list({ sandboxId: "a", cursor: "a-2", limit: 2 })).map((one) => one.run_id)).toEqual([
        "a-1",
        "a-0",
      ]);
      await expect(store().runs.list({ sandboxId: "b", cursor: "a-2", limit: 2 })).rejects.toMatchObject({
        code: "not_found",
      });
      expect(await store().runs.get("team", "odd")).toEqual(hostile);
      expect(await store().runs.get("other", "odd")).toBeUndefined();
    });

    it("[EXE-14] go by age, and by number and size of one sandbox, but never its newest", async () => {
      await add("team", "old", 2);
      await add("team", "young", 1, { started_at: new Date(5_000_000).toISOString() });
      await store().runs.expire(3_000_000);
      expect([await idsOf("old"), await idsOf("young")]).toEqual([[], ["young-0"]]);
      const sandboxes = new Map([
        await add("team", "many", 10),
        await add("team", "large", 3, { stdout: "x".repeat(900) }),
      ]);
      await store().runs.prune({ namespace: "team", sandboxes }, { ...bounds, keep: 4, sandboxBytes: 1_000 });
      expect(await idsOf("many")).toEqual(named("many", 8, 10)); // by size: each takes about 400 bytes
      expect(await idsOf("large")).toEqual(["large-2"]);
      await store().runs.prune({ namespace: "team", sandboxes }, { ...bounds, keep: 1 });
      expect(await idsOf("many")).toEqual(["many-9"]);
    });

    it("[S104] of a living sandbox outlive many small sandboxes that are gone, of its namespace or another", async () => {
      const { sandboxes, runs } = store();
      await sandboxes.insert(sandboxRecord("theirs", { namespace: "other" }));
      await sandboxes.insert(sandboxRecord("living", { namespace: "team" }));
      await add("other", "theirs", 5);
      await add("team", "living", 5);
      const small = { ...bounds, namespaceRecords: 12 };
      for (let at = 0; at < 40; at++) {
        const added = new Map([await add("team", `gone${at}`, 1)]);
        await runs.prune({ namespace: "team", sandboxes: added }, small);
      }
      expect([await idsOf("theirs"), await idsOf("living")]).toEqual([named("theirs", 0, 5), named("living", 0, 5)]);
      const left = await Promise.all(Array.from({ length: 40 }, (_, at) => idsOf(`gone${at}`)));
      // The oldest of those that are gone made room, and no more than it takes.
      expect(left.flat()).toEqual(Array.from({ length: 7 }, (_, at) => `gone${33 + at}-0`));
    });

    it("[S104] of a namespace that living sandboxes fill make room by those of the sandbox that adds some", async () => {
      const { sandboxes, runs } = store();
      for (const id of ["quiet", "busy"]) await sandboxes.insert(sandboxRecord(id, { namespace: "team" }));
      await add("team", "quiet", 5);
      const added = new Map([await add("team", "busy", 20)]);
      await runs.prune({ namespace: "team", sandboxes: added }, { ...bounds, namespaceRecords: 8 });
      expect([await idsOf("quiet"), await idsOf("busy")]).toEqual([named("quiet", 0, 5), named("busy", 17, 20)]);
      await runs.prune({ namespace: "team", sandboxes: added }, { ...bounds, namespaceRecords: 2 });
      expect([await idsOf("quiet"), await idsOf("busy")]).toEqual([named("quiet", 0, 5), ["busy-19"]]);
      const [id, some] = await add("team", "gone", 3);
      const gone = new Map([[id, some]]);
      await runs.prune({ namespace: "team", sandboxes: gone }, { ...bounds, namespaceBytes: (some.bytes / 3) * 7.5 });
      expect([await idsOf("quiet"), await idsOf("gone")]).toEqual([named("quiet", 0, 5), ["gone-2"]]);
    });
  });
}
