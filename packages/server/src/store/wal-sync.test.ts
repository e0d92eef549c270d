import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WalSync } from "./wal-sync.ts";

let folder: string;
let failures: Error[];
let wal: WalSync;

beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-wal-");
  await writeFile(join(folder, "db-wal"), "log");
  failures = [];
  wal = new WalSync(join(folder, "db"), (error) => failures.push(error));
});
afterEach(async () => {
  wal.close();
  await rm(folder, { recursive: true });
});

async function untilClean(): Promise<void> {
  while (wal.dirty) await pause(1);
}

describe("commits", () => {
  it("[AUD-01] reach the disk soon, without being asked to", async () => {
    for (let round = 0; round < 3; round++) {
      wal.committed();
      expect(wal.dirty).toBe(true);
      await untilClean();
    }
  });

  it("reach the disk before whoever waits for them goes on", async () => {
    wal.committed();
    await new Promise<void>((resolve) => wal.whenSynced(resolve));
    expect(wal.dirty).toBe(false);
  });

  it("that the disk does not take are told of", async () => {
    await symlink("/dev/null", join(folder, "null-wal"));
    const unsyncable = new WalSync(join(folder, "null"), (error) => failures.push(error));
    unsyncable.committed();
    while (failures.length === 0) await pause(1);
    expect(failures[0]).toMatchObject({ code: "EINVAL" });
    expect(unsyncable.dirty).toBe(true);
    unsyncable.close();
  });
});
