import { describe, expect, it } from "vitest";
import { type ImageRecord, plainConfig } from "../../packages/server/src/core/image-record.ts";
import type { RecordStore } from "../../packages/server/src/store/store.ts";

function image(id: string, more: Partial<ImageRecord> = {}): ImageRecord {
  return {
    ...{ id, name: "made", aliases: [], description: "", source: "spec", digest: `sha256:${id}`, layerId: null },
    ...{ config: plainConfig, bytes: 0, state: "building", step: null, error: null, createdAtMs: 1_000 },
    ...{ createdBy: "key-1", ...more },
  };
}

/** What the records of images do, in every store. */
export function imageContract(name: string, store: () => RecordStore, reopen: () => Promise<void>): void {
  describe(`${name}: images`, () => {
    it("come back as they were put in and changed, newest first, until they are deleted", async () => {
      const { images } = store();
      const config = { ...plainConfig, env: { ü: "\u{1f600}" }, entrypoint: ["/bin/sh", "-c"], workdir: "/app" };
      const old = image("old", { aliases: ["registry.example/a:1"], config });
      await images.insert(old);
      await images.insert(image("new", { createdAtMs: 2_000, source: "catalogue" }));
      await images.insert(image("same", { createdAtMs: 2_000 }));
      const ready = { state: "ready", layerId: "layer", bytes: 3 * 1024 ** 3, step: "freeze" } as const;
      await images.update("old", ready);
      await images.update("new", { state: "failed", step: "pip", error: "no\nsuch package" });
      await reopen();
      expect(await store().images.list()).toEqual([
        image("same", { createdAtMs: 2_000 }),
        image("new", {
          createdAtMs: 2_000,
          source: "catalogue",
          state: "failed",
          step: "pip",
          error: "no\nsuch package",
        }),
        { ...old, ...ready },
      ]);
      await store().images.delete("new");
      await store().images.delete("never");
      expect((await store().images.list()).map(({ id }) => id)).toEqual(["same", "old"]);
    });
  });
}
