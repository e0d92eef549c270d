import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ensureAdmin } from "../../packages/server/src/identity/first-admin.ts";
import { Keyring } from "../../packages/server/src/identity/keyring.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { journalOf, noJournal } from "../journal.ts";

async function openPlace(clock = systemClock) {
  const folder = await mkdtemp("/var/tmp/caisson-identity-");
  const store = await openStore({ path: join(folder, "caisson.db") });
  return {
    store,
    keyring: new Keyring({ keys: store.keys, journal: await journalOf(store), clock }),
    file: join(folder, "admin-key"),
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

const asked = { name: "a", namespace: "default", role: "agent" } as const;

describe("keys", () => {
  it("[IDN-03] begin with an administrator's, in a file that its owner alone can read", async () => {
    await using place = await openPlace();
    expect(await ensureAdmin(place.keyring, place.file)).toEqual({ isFirst: true });
    const token = (await readFile(place.file, "utf8")).trim();
    expect(await place.keyring.authenticate(token)).toMatchObject({ role: "admin", namespace: "default" });
    expect((await stat(place.file)).mode & 0o777).toBe(0o600);
    expect(await ensureAdmin(place.keyring, place.file)).toEqual({ isFirst: false });
    expect((await readFile(place.file, "utf8")).trim()).toBe(token);
    const keys = await place.store.keys.list();
    expect(keys).toHaveLength(1);
    const rows = await place.store.audit.search({});
    expect(rows).toMatchObject([
      { type: "key.created", actor: "system", detail: { key_id: keys[0]?.id, role: "admin" } },
    ]);
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  it("[IDN-03] of an administrator are made again when the file is gone, damaged, or its key revoked or limited to scopes", async () => {
    await using place = await openPlace();
    await ensureAdmin(place.keyring, place.file);
    const seen = new Set([(await readFile(place.file, "utf8")).trim()]);
    const spoil = [
      () => rm(place.file),
      () => writeFile(place.file, "nonsense"),
      async () => void (await place.keyring.revoke((await place.keyring.authenticate([...seen].at(-1) ?? "")).id)),
      async () =>
        writeFile(place.file, (await place.keyring.issue({ ...asked, role: "admin", scopes: ["read"] })).token),
    ];
    for (const act of spoil) {
      await act();
      expect(await ensureAdmin(place.keyring, place.file)).toEqual({ isFirst: false });
      seen.add((await readFile(place.file, "utf8")).trim());
      const principal = await place.keyring.authenticate([...seen].at(-1) ?? "");
      expect(principal).toMatchObject({ role: "admin" });
      expect(principal).not.toHaveProperty("scopes");
    }
    expect(seen.size).toBe(5);
  });

  it("[IDN-01] that were looked up before are refused from the moment of their revocation", async () => {
    await using place = await openPlace();
    const { key, token } = await place.keyring.issue(asked);
    await place.keyring.authenticate(token);
    const revoking = place.keyring.revoke(key.id);
    await revoking;
    await expect(place.keyring.authenticate(token)).rejects.toThrow(/unknown, revoked or expired/);
    expect(await place.keyring.principalOf(key.id)).toBeUndefined();
    await expect(new Keyring({ keys: place.store.keys, journal: noJournal }).authenticate(token)).rejects.toThrow(
      /unknown, revoked or expired/,
    );
  });

  it("[IDN-01] expire by the clock, remembered or not", async () => {
    let now = 1_000;
    await using place = await openPlace({ ...systemClock, wallMs: () => now });
    const scopes = ["read", "server:0123456789abcdef"];
    const { token } = await place.keyring.issue({ ...asked, scopes, expiresAtMs: 2_000 });
    expect(await place.keyring.authenticate(token)).toMatchObject({ scopes });
    now = 2_000;
    await expect(place.keyring.authenticate(token)).rejects.toThrow(/unknown, revoked or expired/);
  });

  it("[IDN-01] are in the database as hashes alone", async () => {
    await using place = await openPlace();
    const { token } = await place.keyring.issue(asked);
    const folder = join(place.file, "..");
    for (const name of ["caisson.db", "caisson.db-wal"]) {
      const bytes = await readFile(join(folder, name)).catch(() => Buffer.alloc(0));
      expect(bytes.includes(token)).toBe(false);
    }
    expect(JSON.stringify(await place.store.keys.list())).not.toContain(token);
  });

  it("cannot be guessed at any speed", async () => {
    await using place = await openPlace();
    const { token } = await place.keyring.issue(asked);
    await place.keyring.authenticate(token);
    const guesses = Array.from({ length: 5_000 }, (_, n) => `csn_${String(n).padStart(43, "A")}`);
    const codes = await Promise.all(
      guesses.map((guess) => place.keyring.authenticate(guess).catch((error) => error.code)),
    );
    expect(new Set(codes)).toEqual(new Set(["unauthenticated", "limit_exceeded"]));
    expect(await place.keyring.authenticate(token)).toMatchObject({ role: "agent" }); // who is known does not notice
  });
});
