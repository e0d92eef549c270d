import { describe, expect, it } from "vitest";
import type { BindingRecord, DeliveryRecord, SecretRecord } from "../../packages/server/src/core/secret-record.ts";
import type { RecordStore } from "../../packages/server/src/store/store.ts";

function secret(name: string, more: Partial<SecretRecord> = {}): SecretRecord {
  return {
    ...{ namespace: "team", name, version: 1, createdAtMs: 1_000, updatedAtMs: 1_000, createdBy: "key-1" },
    ...{ expiresAtMs: null, usesLeft: null, keyId: "master-1", wrappedKey: "wrapped", sealed: "sealed" },
    ...more,
  };
}

function binding(id: string, name: string, more: Partial<BindingRecord> = {}): BindingRecord {
  const delivery = { as: "env", variable: "TOKEN" } as const;
  return {
    ...{ id, namespace: "team", name, target: { all: true }, delivery, createdAtMs: 1_000, createdBy: "key-1" },
    ...more,
  };
}

function delivery(sandboxId: string, name: string, more: Partial<DeliveryRecord> = {}): DeliveryRecord {
  return {
    ...{ sandboxId, bindingId: `to-${name}`, namespace: "team", name, version: 1, delivery: { as: "file" } },
    ...{ placeholder: null, deliveredAtMs: 2_000 },
    ...more,
  };
}

/** What the records of secrets do, in every store. */
export function secretContract(name: string, store: () => RecordStore, reopen: () => Promise<void>): void {
  const secrets = () => store().secrets;
  describe(`${name}: secrets`, () => {
    it("are as they were put in last, by namespace, also after it was closed", async () => {
      await secrets().put(secret("B"));
      await secrets().put(secret("A", { version: 3, expiresAtMs: 9_000, usesLeft: 2 }));
      await secrets().put(secret("A", { namespace: "other" }));
      const next = secret("B", { version: 2, sealed: "sealed again", updatedAtMs: 3_000 });
      await secrets().put(next);
      await reopen();
      expect(await secrets().get("team", "B")).toEqual(next);
      expect((await secrets().list("team")).map((one) => one.name)).toEqual(["A", "B"]);
      expect(await secrets().get("other", "B")).toBeUndefined();
      expect(await secrets().delete("other", "B")).toBe(false);
      expect(await secrets().delete("other", "A")).toBe(true);
      expect(await secrets().list("other")).toEqual([]);
    });

    it("lose their bindings with them, and a sandbox's own with the sandbox", async () => {
      for (const one of ["A", "B"]) await secrets().put(secret(one));
      await secrets().bind(binding("1", "A"));
      await secrets().bind(binding("2", "A", { target: { sandboxId: "box" }, createdAtMs: 2_000 }));
      await secrets().bind(binding("3", "B", { target: { keyId: "key-9" }, createdAtMs: 3_000 }));
      expect((await secrets().bindings("team")).map(({ id }) => id)).toEqual(["1", "2", "3"]);
      expect(await secrets().boundNamespaces()).toEqual(["team"]);
      await secrets().release("box");
      expect((await secrets().bindings("team")).map(({ id }) => id)).toEqual(["1", "3"]);
      await secrets().unbind("1");
      expect(await secrets().bindings("team")).toEqual([
        binding("3", "B", { target: { keyId: "key-9" }, createdAtMs: 3_000 }),
      ]);
      await secrets().delete("team", "B");
      expect(await secrets().boundNamespaces()).toEqual([]);
    });

    it("are wrapped anew only as they were read, and erased only in that version", async () => {
      await secrets().put(secret("A"));
      await secrets().put(secret("B", { keyId: "master-2" }));
      const [old] = await secrets().wrappedOtherwise("master-2", 10);
      expect(old).toEqual(secret("A"));
      expect((await secrets().keyIds()).sort()).toEqual(["master-1", "master-2"]);
      const to = { keyId: "master-2", wrappedKey: "anew" };
      expect(await secrets().rewrap({ ...secret("A"), version: 2 }, to)).toBe(false);
      expect(await secrets().rewrap(secret("A"), to)).toBe(true);
      expect(await secrets().rewrap(secret("A"), to)).toBe(false);
      expect(await secrets().get("team", "A")).toEqual({ ...secret("A"), ...to });
      await secrets().erase("team", "A", 2);
      expect(await secrets().get("team", "A")).toMatchObject({ sealed: "sealed" });
      await secrets().erase("team", "A", 1);
      expect(await secrets().get("team", "A")).toMatchObject({ sealed: "", wrappedKey: "", keyId: "" });
      expect(await secrets().keyIds()).toEqual(["master-2"]);
      expect(await secrets().wrappedOtherwise("master-2", 10)).toEqual([]);
    });

    it("expire in their order, once", async () => {
      for (const [one, expiresAtMs] of [
        ["A", 5_000],
        ["B", 3_000],
        ["C", null],
      ] as const)
        await secrets().put(secret(one, { expiresAtMs }));
      expect(await secrets().nextExpiry()).toBe(3_000);
      expect((await secrets().expired(4_000)).map((one) => one.name)).toEqual(["B"]);
      await secrets().erase("team", "B", 1);
      expect(await secrets().expired(4_000)).toEqual([]);
      expect(await secrets().nextExpiry()).toBe(5_000);
    });

    it("are delivered as often as they may be, also when all ask at once; again to whoever had them", async () => {
      await secrets().put(secret("A", { usesLeft: 3 }));
      const asked = Array.from({ length: 8 }, (_, at) => secrets().deliver(delivery(`box-${at}`, "A")));
      const outcomes = await Promise.all(asked);
      expect(outcomes.filter((outcome) => outcome === "delivered")).toHaveLength(3);
      expect(outcomes.filter((outcome) => outcome === "spent")).toHaveLength(5);
      expect(await secrets().get("team", "A")).toMatchObject({ usesLeft: 0 });
      const holders = (await secrets().holders()).sort();
      expect(holders).toEqual(outcomes.flatMap((outcome, at) => (outcome === "delivered" ? [`box-${at}`] : [])));
      await reopen();
      const [first = "", ...others] = holders;
      expect(await secrets().deliver(delivery(first, "A", { deliveredAtMs: 4_000 }))).toBe("delivered");
      expect(await secrets().deliveries(first)).toEqual([delivery(first, "A", { deliveredAtMs: 4_000 })]);
      expect(await secrets().deliver(delivery(first, "A", { version: 2 }))).toBe("changed");
      expect(await secrets().lastDelivered("team", "A")).toBe(1);
      for (const holder of others) expect(await secrets().release(holder)).toEqual([]);
      expect(await secrets().release(first)).toEqual([secret("A", { usesLeft: 0 })]);
      expect(await secrets().lastDelivered("team", "A")).toBe(0);
    });
  });
}
