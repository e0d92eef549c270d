import { describe, expect, it } from "vitest";
import type { TemplateRecord } from "../../packages/server/src/core/template.ts";
import type { RecordStore } from "../../packages/server/src/store/store.ts";

function template(id: string, more: Partial<TemplateRecord> = {}): TemplateRecord {
  return {
    ...{ id, namespace: "default", name: "table", description: "", state: "building", step: "sandbox", error: null },
    ...{ image: { name: "host", layerId: null }, engine: "gvisor", env: {}, network: null, warmUp: null, bytes: 0 },
    limits: { memoryBytes: 512, cpus: 0.5, cpuShares: 1024, processes: 64, storageBytes: 1024 },
    ...{ packages: { pip: [], npm: [] }, layerId: null, memory: false, why: null, builderId: null },
    ...{ createdAtMs: 1_000, createdBy: "key-1", ...more },
  };
}

/** What the records of templates do, in every store. */
export function templateContract(name: string, store: () => RecordStore, reopen: () => Promise<void>): void {
  describe(`${name}: templates`, () => {
    it("come back as they were put in and changed, newest first, until they are deleted", async () => {
      const { templates } = store();
      const old = template("old", {
        env: { ü: "\u{1f600}" },
        network: { allow: ["example.com"], unknown: "ask" },
        packages: { pip: ["pandas==2"], npm: [] },
        warmUp: { language: "python", code: "x = '\\0'\n" },
      });
      await templates.insert(old);
      await templates.insert(template("new", { createdAtMs: 2_000, namespace: "other" }));
      const ready = { state: "ready", step: null, layerId: "layer", bytes: 3 * 1024 ** 3, memory: true } as const;
      await templates.update("old", ready);
      await templates.update("new", { state: "failed", step: "packages", error: "no\nsuch package" });
      await reopen();
      const failed = { state: "failed", step: "packages", error: "no\nsuch package" } as const;
      expect(await store().templates.list()).toEqual([
        template("new", { createdAtMs: 2_000, namespace: "other", ...failed }),
        { ...old, ...ready },
      ]);
      await store().templates.delete("new");
      await store().templates.delete("never");
      expect((await store().templates.list()).map(({ id }) => id)).toEqual(["old"]);
    });
  });
}
