import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
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
  vi.useRealTimers();
  wal.close();
  await rm(folder, { recursive: true });
});

/** What a loss of power takes at most (AUD-01). */
const promisedMs = 50;

/** Lets so much time pass, in which commits come all the while or not at all: nothing but the disk goes on by itself. */
function pass(ms: number, isBusy: boolean): void {
  for (let passed = 0; passed < ms; passed++) {
    vi.advanceTimersByTime(1);
    if (isBusy) wal.committed();
  }
}

describe("commits", () => {
  it.each([
    ["where none follows", false],
    ["where they never stop coming", true],
  ])("[AUD-01] are on their way to the disk within 50 ms, without being asked to, %s", async (_, isBusy) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    for (let round = 0; round < 3; round++) {
      wal.committed();
      const synced = new Promise<void>((resolve) => wal.whenSynced(resolve, false));
      pass(promisedMs, isBusy);
      // It has begun: one that waits for a timer would wait for ever, as the time that passes is ours.
      expect(vi.getTimerCount()).toBe(0);
      await synced;
    }
    // What came while the disk was busy follows by itself.
    pass(promisedMs, false);
    expect(vi.getTimerCount()).toBe(0);
    await new Promise<void>((resolve) => wal.whenSynced(resolve, false));
    expect(wal.dirty).toBe(false);
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
