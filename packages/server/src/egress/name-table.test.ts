import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gateLimits } from "./gate-limits.ts";
import { isNameAddress, NameTable } from "./name-table.ts";

describe("addresses of names", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "caisson-names-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("lie in 127.64.0.0/10, are one a name, and lead back to it", async () => {
    const table = await NameTable.open(null);
    const [a, b] = [await table.addressOf("a.example"), await table.addressOf("b.example")];
    expect(a).not.toBe(b);
    expect(await table.addressOf("a.example")).toBe(a);
    expect([a, b].map((address) => isNameAddress(address ?? ""))).toEqual([true, true]);
    expect(table.nameOf(a ?? "")).toBe("a.example");
    expect(["127.64.0.1", "127.0.0.1", "127.127.255.255", "10.0.0.1", ""].map((at) => table.nameOf(at))).toEqual(
      Array.from({ length: 5 }, () => undefined),
    );
  });

  it("are the same for the next owner, also after a write that was cut off", async () => {
    const path = join(folder, "names");
    const first = await NameTable.open(path);
    const addresses = await Promise.all(["a.example", "b.example"].map((name) => first.addressOf(name)));
    const second = await NameTable.open(path);
    const again = await Promise.all(["a.example", "b.example"].map((name) => second.addressOf(name)));
    expect(again).toEqual(addresses);
    await appendFile(path, "c.exa");
    const third = await NameTable.open(path);
    const fresh = await third.addressOf("d.example");
    const last = await NameTable.open(path);
    expect(await Promise.all(["a.example", "b.example", "d.example"].map((name) => last.addressOf(name)))).toEqual([
      ...addresses,
      fresh,
    ]);
    expect(new Set([...addresses, fresh]).size).toBe(3);
  });

  it("run out, and those that were given stay", async () => {
    const table = await NameTable.open(null);
    const given = new Set<string>();
    for (let i = 0; i < gateLimits.names; i++) given.add((await table.addressOf(`n${i}.example`)) ?? "");
    expect(given.size).toBe(gateLimits.names);
    expect([...given].every(isNameAddress)).toBe(true);
    expect(await table.addressOf("more.example")).toBeUndefined();
    expect(given.has((await table.addressOf("n7.example")) ?? "")).toBe(true);
  });

  it("are none where they cannot be written down", async () => {
    const table = await NameTable.open(join(folder, "missing", "names"));
    await expect(table.addressOf("a.example")).rejects.toMatchObject({ code: "ENOENT" });
    await expect(table.addressOf("a.example")).rejects.toMatchObject({ code: "ENOENT" });
  });
});
