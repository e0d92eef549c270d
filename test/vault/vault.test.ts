import { randomBytes } from "node:crypto";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { environmentSecrets } from "../../packages/server/src/vault/environment-secrets.ts";
import { callerOf, filesWith, makeVaultHome } from "./fixture.ts";

const operator = callerOf();
const holder = { id: "box-1", namespace: "default", createdBy: "key-agent" };
const everyone = { target: { all: true }, delivery: { as: "file" } } as const;
const values = ({ bring }: { bring: { name: string; value: Buffer }[] }) =>
  Object.fromEntries(bring.map(({ name, value }) => [name, value.toString()]));

describe("the vault's store", () => {
  it("[SEC-01] holds no value, nor does any other file of the daemon", async () => {
    await using home = await makeVaultHome();
    const secrets = Array.from({ length: 20 }, (_, at) => ({ name: `S${at}`, value: randomBytes(10 + at * 20) }));
    {
      await using opened = await home.open();
      const { vault } = opened;
      for (const secret of secrets) await vault.put(operator, secret);
      for (const { name } of secrets) await vault.bind(operator, name, everyone);
      const { bring } = await vault.deliver(operator, holder, []);
      for (const { name, value } of secrets) expect(bring.find((one) => one.name === name)?.value).toEqual(value);
      await vault.rotate(operator);
      // With its log of what was written last.
      for (const { value } of secrets) expect(await filesWith(home.folder, value)).toEqual([]);
    }
    for (const { value } of secrets) expect(await filesWith(home.folder, value)).toEqual([]);
    await writeFile(join(home.folder, "canary"), secrets[0]?.value ?? "");
    expect(await filesWith(home.folder, secrets[0]?.value ?? Buffer.alloc(0))).toHaveLength(1);
  });

  it("gives the value back after it was closed and opened, in the newest version", async () => {
    await using home = await makeVaultHome();
    {
      await using opened = await home.open();
      const first = await opened.vault.put(operator, { name: "TOKEN", value: Buffer.from("first value") });
      expect(first).toMatchObject({ isNew: true, secret: { version: 1 } });
      const second = await opened.vault.put(operator, { name: "TOKEN", value: Buffer.from("second value") });
      expect(second).toMatchObject({ isNew: false, secret: { version: 2 } });
      await opened.vault.bind(operator, "TOKEN", everyone);
    }
    await using opened = await home.open();
    expect(values(await opened.vault.deliver(operator, holder, []))).toEqual({ TOKEN: "second value" });
  });

  it("refuses values under 6 bytes, warns of those under 8, and never shows them", async () => {
    await using home = await makeVaultHome();
    await using opened = await home.open();
    const put = (value: string) => opened.vault.put(operator, { name: "PIN", value: Buffer.from(value) });
    const refused = await put("12345").catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "invalid" });
    expect(JSON.stringify(refused) + String(refused)).not.toContain("12345");
    expect((await put("123456")).warnings).toHaveLength(1);
    expect((await put("1234567")).warnings).toHaveLength(1);
    expect((await put("12345678")).warnings).toEqual([]);
    await expect(put("x".repeat(64 * 1024 + 1))).rejects.toMatchObject({ code: "too_large" });
  });
});

describe("the master key", () => {
  it("[SEC-01] is made once, for its owner alone, and never a second time while there are secrets", async () => {
    await using home = await makeVaultHome();
    {
      await using opened = await home.open();
      await opened.vault.put(operator, { name: "TOKEN", value: Buffer.from("some value") });
    }
    expect((await stat(home.keyFile)).mode & 0o777).toBe(0o600);
    const key = await readFile(home.keyFile);
    await chmod(home.keyFile, 0o640);
    await expect(home.open()).rejects.toMatchObject({ code: "forbidden" });
    await chmod(home.keyFile, 0o600);
    await using again = await home.open();
    expect((await readFile(home.keyFile)).equals(key)).toBe(true);
    expect(await again.vault.list(operator)).toHaveLength(1);
  });

  it("that is wrong or gone is refused with a clear message, and nothing is touched", async () => {
    await using home = await makeVaultHome();
    {
      await using opened = await home.open();
      await opened.vault.put(operator, { name: "TOKEN", value: Buffer.from("some value") });
    }
    const [key, database] = [await readFile(home.keyFile), await readFile(join(home.folder, "caisson.db"))];
    const keys = randomBytes(32).toString("hex");
    await expect(home.open({ keys: { keys, place: "CAISSON_VAULT_KEY" } })).rejects.toMatchObject({
      code: "forbidden",
      message: expect.stringContaining("CAISSON_VAULT_KEY is not the master key"),
    });
    await writeFile(home.keyFile, `${keys}\n`);
    await expect(home.open()).rejects.toMatchObject({ code: "forbidden" });
    await writeFile(home.keyFile, "");
    await expect(home.open()).rejects.toMatchObject({ code: "invalid" });
    await writeFile(home.keyFile, key);
    expect((await readFile(join(home.folder, "caisson.db"))).equals(database)).toBe(true);
    await using opened = await home.open({ keys: { keys: `${keys},${key.toString().trim()}`, place: "x" } });
    expect(await opened.vault.list(operator)).toHaveLength(1);
  });

  it("given by the environment rotates to the first of those that are given", async () => {
    await using home = await makeVaultHome();
    const [old, fresh] = [randomBytes(32).toString("hex"), randomBytes(32).toString("hex")];
    const given = (keys: string) => ({ keys: { keys, place: "CAISSON_VAULT_KEY" } });
    {
      await using opened = await home.open(given(old));
      await opened.vault.put(operator, { name: "TOKEN", value: Buffer.from("some value") });
      await opened.vault.bind(operator, "TOKEN", everyone);
      await expect(opened.vault.rotate(operator)).rejects.toMatchObject({ code: "conflict" });
    }
    {
      await using opened = await home.open(given(`${fresh} ${old}`));
      expect(await opened.vault.rotate(operator)).toBe(1);
    }
    await expect(home.open(given(old))).rejects.toMatchObject({ code: "forbidden" });
    await using opened = await home.open(given(fresh));
    expect(values(await opened.vault.deliver(operator, holder, []))).toEqual({ TOKEN: "some value" });
  });

  it("[SEC-01] rotates under load: no read is lost, and what was put meanwhile is there", async () => {
    await using home = await makeVaultHome();
    await using opened = await home.open();
    const { vault } = opened;
    const expected = new Map<string, string>();
    const put = async (name: string, text: string) => {
      await vault.put(operator, { name, value: Buffer.from(text) });
      expected.set(name, text);
    };
    for (let at = 0; at < 50; at++) await put(`S${at}`, `value number ${at}`);
    for (let at = 0; at < 5; at++) await vault.bind(operator, `S${at * 10}`, everyone);
    const before = await readFile(home.keyFile, "utf8");
    let rotating = true;
    let reads = 0;
    const read = async (reader: number) => {
      while (rotating) {
        const { bring } = await vault.deliver(undefined, { ...holder, id: `box-${reader}-${reads}` }, []);
        expect(bring).toHaveLength(5);
        for (const { name, value } of bring)
          expect(value.toString()).toMatch(new RegExp(`^.*number ${name.slice(1)}$`));
        reads++;
      }
    };
    const write = async () => {
      for (let round = 0; rotating; round++) await put(`S${round % 50}`, `new value number ${round % 50}`);
    };
    const load = [read(0), read(1), read(2), write()];
    for (let round = 0; round < 3; round++) expect(await vault.rotate(operator)).toBe(50);
    rotating = false;
    await Promise.all(load);
    expect(reads).toBeGreaterThan(0);
    expect(await readFile(home.keyFile, "utf8")).not.toBe(before);
    expect((await readFile(home.keyFile, "utf8")).trim().split("\n")).toHaveLength(1);
    for (const name of expected.keys())
      if (!(await vault.get(operator, name)).bindings.length) await vault.bind(operator, name, everyone);
    expect(values(await vault.deliver(operator, holder, []))).toEqual(Object.fromEntries(expected));
  });

  it("is gone on with where a rotation was interrupted", async () => {
    await using home = await makeVaultHome();
    {
      await using opened = await home.open();
      for (const name of ["A", "B"]) await opened.vault.put(operator, { name, value: Buffer.from(`value ${name}`) });
      for (const name of ["A", "B"]) await opened.vault.bind(operator, name, everyone);
    }
    // As a kill leaves it after the first step: the new key is in the file and wraps nothing.
    await writeFile(home.keyFile, `${randomBytes(32).toString("hex")}\n${await readFile(home.keyFile, "utf8")}`);
    await using opened = await home.open();
    expect(values(await opened.vault.deliver(operator, holder, []))).toEqual({ A: "value A", B: "value B" });
    expect(await opened.vault.rotate(operator)).toBe(2);
    expect((await readFile(home.keyFile, "utf8")).trim().split("\n")).toHaveLength(1);
    const other = { ...holder, id: "box-2" };
    expect(values(await opened.vault.deliver(operator, other, []))).toEqual({ A: "value A", B: "value B" });
  });
});

describe("a namespace", () => {
  it("[SEC-05] sees its own secrets and no other's, by store and by environment", async () => {
    await using home = await makeVaultHome();
    const environment = environmentSecrets({
      CAISSON_SECRET_DEFAULT_GIVEN: "given to default",
      CAISSON_SECRET_OTHER_GIVEN: "given to other",
    });
    await using opened = await home.open({ environment });
    const { vault } = opened;
    const other = callerOf("other");
    await vault.put(operator, { name: "OWN", value: Buffer.from("own value") });
    for (const name of ["OWN", "GIVEN"]) await vault.bind(operator, name, everyone);
    await vault.bind(other, "GIVEN", everyone);
    const names = async (caller: typeof operator) => (await vault.list(caller)).map(({ name }) => name);
    expect(await names(operator)).toEqual(["OWN", "GIVEN"]);
    expect(await names(other)).toEqual(["GIVEN"]);
    for (const act of [
      () => vault.get(other, "OWN"),
      () => vault.bind(other, "OWN", everyone),
      () => vault.delete(other, "OWN"),
    ])
      await expect(act()).rejects.toMatchObject({ code: "not_found" });
    const elsewhere = { ...holder, id: "box-2", namespace: "other" };
    expect(values(await vault.deliver(operator, holder, []))).toEqual({ OWN: "own value", GIVEN: "given to default" });
    expect(values(await vault.deliver(other, elsewhere, []))).toEqual({ GIVEN: "given to other" });
  });
});
