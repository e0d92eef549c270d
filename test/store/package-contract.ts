import { describe, expect, it } from "vitest";
import type { PackageRecord } from "../../packages/server/src/core/package.ts";
import type { RecordStore } from "../../packages/server/src/store/store.ts";

/** What the records of packages do, in every store. */
export function packageContract(name: string, store: () => RecordStore, reopen: () => Promise<void>): void {
  describe(`${name}: packages`, () => {
    const record = (name: string, more: Partial<PackageRecord> = {}): PackageRecord => ({
      ...{
        sandboxId: "box-1",
        manager: "pip",
        name,
        version: "1.0",
        hash: null,
        installedAtMs: 1_000,
        installedBy: "key-1",
      },
      ...more,
    });

    it("are known by name, the last of each, until their sandbox is forgotten", async () => {
      await store().packages.put([record("b"), record("a", { hash: "sha256:00" }), record("a", { manager: "npm" })]);
      await store().packages.put([record("b", { version: "2.0", hash: "sha256:11", installedAtMs: 2_000 })]);
      await store().packages.put([record("a", { sandboxId: "box-2" })]);
      await reopen();
      expect(await store().packages.list("box-1")).toEqual([
        record("a", { manager: "npm" }),
        record("a", { hash: "sha256:00" }),
        record("b", { version: "2.0", hash: "sha256:11", installedAtMs: 2_000 }),
      ]);
      expect((await store().packages.sandboxes()).sort()).toEqual(["box-1", "box-2"]);
      await store().packages.deleteSandbox("box-1");
      expect(await store().packages.list("box-1")).toEqual([]);
      expect(await store().packages.sandboxes()).toEqual(["box-2"]);
    });
  });
}
