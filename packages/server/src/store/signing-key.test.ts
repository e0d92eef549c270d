import { chmod, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSigner } from "./signing-key.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp("/var/tmp/caisson-key-");
});
afterEach(async () => {
  await rm(home, { recursive: true });
});

describe("the signing key", () => {
  it("[EXE-09] is made once, kept, and readable by its owner alone", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => openSigner(home)));
    expect(new Set(all.map(({ publicKey }) => publicKey)).size).toBe(1);
    expect((await openSigner(home)).publicKey).toBe(all[0]?.publicKey);
    expect((await stat(join(home, "signing-key.pem"))).mode & 0o777).toBe(0o600);
    expect(await readdir(home)).toEqual(["signing-key.pem"]);
  });

  it("[EXE-09] is not used when others may read it", async () => {
    await openSigner(home);
    await chmod(join(home, "signing-key.pem"), 0o644);
    await expect(openSigner(home)).rejects.toMatchObject({ code: "forbidden" });
  });
});
