import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { geteuid } from "node:process";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { wireLimits } from "../core/limits.ts";
import { openTrays, Trays } from "./trays.ts";

const { trayBytes, traysIdleMs } = wireLimits;

describe("trays", () => {
  let folder: string;
  let path: string;
  let failures: string[];
  let trays: Trays;
  beforeEach(() => {
    vi.useFakeTimers();
    folder = mkdtempSync(join(tmpdir(), "caisson-trays-"));
    path = join(folder, "trays");
    failures = [];
    trays = new Trays(openSync(path, "w+"), (reason) => failures.push(reason));
  });
  afterEach(() => {
    trays.close();
    vi.useRealTimers();
    rmSync(folder, { recursive: true });
  });

  const piece = (byte: number, size: number = trayBytes) => Buffer.alloc(size, byte);
  const lay = (byte: number, size?: number) => {
    const told = trays.lay(piece(byte, size));
    return told && [told.readUInt32LE(0), told.readUInt32LE(4)];
  };

  it("are used in turn, and again when the guest has taken what lies there", () => {
    for (let number = 0; number < wireLimits.trays; number++) expect(lay(number)).toEqual([number, trayBytes]);
    expect(lay(99)).toBeUndefined();
    trays.onTaken(2);
    expect(lay(100, 10)).toEqual([0, 10]);
    expect(lay(101)).toEqual([1, trayBytes]);
    expect(lay(102)).toBeUndefined();
    const bytes = readFileSync(path);
    expect(bytes.subarray(0, 10).equals(piece(100, 10))).toBe(true);
    for (const [number, byte] of [101, 2, 3].entries())
      expect(bytes.subarray((number + 1) * trayBytes, (number + 2) * trayBytes).equals(piece(byte))).toBe(true);
  });

  it("take no piece that is larger than one", () => {
    expect(lay(1, trayBytes + 1)).toBeUndefined();
    expect(statSync(path).size).toBe(0);
  });

  it("[S3] refuse a guest that takes back what it has taken, or takes what nobody has laid there", () => {
    for (let number = 0; number < 3; number++) lay(number);
    trays.onTaken(2);
    expect(() => trays.onTaken(1)).toThrow("tray 1 of 3");
    expect(() => trays.onTaken(4)).toThrow("tray 4 of 3");
    trays.onTaken(3);
  });

  it("hold nothing when nobody has used them for a while and all was taken", () => {
    lay(1);
    vi.advanceTimersByTime(3 * traysIdleMs);
    expect(readFileSync(path)[0]).toBe(1); // the guest may still want it
    trays.onTaken(1);
    vi.advanceTimersByTime(traysIdleMs);
    const { blocks, size } = statSync(path);
    expect([blocks, size]).toEqual([0, wireLimits.trays * trayBytes]);
    expect(vi.getTimerCount()).toBe(0);
    expect(lay(2)).toEqual([1, trayBytes]);
    expect(vi.getTimerCount()).toBe(1);
  });

  it("are left by a new owner as they were while it may be read, and hold nothing of a former one for long", () => {
    lay(1);
    trays.close();
    trays = new Trays(openSync(path, "r+"), (reason) => failures.push(reason));
    vi.advanceTimersByTime(3 * traysIdleMs);
    expect(readFileSync(path)[0]).toBe(1); // a guest that does not know this owner may still pass it on
    trays.watch();
    vi.advanceTimersByTime(traysIdleMs);
    expect(statSync(path).blocks).toBe(0);
  });

  it("take nothing once they are closed, and leave alone what has their number by then", () => {
    trays.close();
    const other = join(folder, "other");
    const fd = openSync(other, "w");
    expect(lay(1)).toBeUndefined();
    trays.watch();
    vi.advanceTimersByTime(3 * traysIdleMs);
    expect(statSync(other).size).toBe(0);
    closeSync(fd);
    expect(failures).toEqual([]);
  });

  it("say so when they cannot be written", () => {
    trays.close();
    const fifo = join(folder, "fifo");
    execFileSync("mkfifo", [fifo]);
    trays = new Trays(openSync(fifo, "r+"), (reason) => failures.push(reason));
    expect(lay(1)).toBeUndefined();
    expect(failures).toEqual(["the trays cannot be written: ESPIPE"]);
    trays.watch();
    vi.advanceTimersByTime(traysIdleMs);
    expect(failures[1]).toBe("the trays cannot be written: EINVAL");
  });
});

/** A file that says it is full whenever it is written to. */
describe("trays without room", () => {
  it.each([
    ["in a place that is full", () => openSync("/dev/full", "r+")],
    ["on a host that has no place for them", () => undefined],
  ])("%s take nothing, and nothing is lost by it", (_what, open) => {
    const failures: string[] = [];
    const trays = new Trays(open(), (reason) => failures.push(reason));
    expect(trays.lay(Buffer.alloc(trayBytes))).toBeUndefined();
    expect(trays.lay(Buffer.alloc(trayBytes))).toBeUndefined();
    trays.close();
    expect(failures).toEqual([]);
  });
});

describe("what a link leads to", () => {
  let folder: string;
  let file: string;
  let link: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "caisson-trays-"));
    file = join(folder, "file");
    link = join(folder, "trays");
    writeFileSync(file, "", { mode: 0o600 });
    symlinkSync(file, link);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("is taken for trays where it is a file of this user's alone", () => {
    const fd = openTrays(link);
    expect(fd).toBeGreaterThan(0);
    closeSync(fd ?? -1);
  });

  it.each<[string, () => void]>([
    ["others may read", () => chmodSync(file, 0o604)],
    ["others may write", () => chmodSync(file, 0o620)],
    ["has another name, too", () => linkSync(file, join(folder, "again"))],
    [
      "is a link again",
      () => {
        renameSync(file, join(folder, "another"));
        symlinkSync(join(folder, "another"), file);
      },
    ],
    [
      "is a FIFO",
      () => {
        rmSync(file);
        execFileSync("mkfifo", ["-m", "600", file]);
      },
    ],
    ["is not there", () => rmSync(file)],
    ["has no link to it", () => rmSync(link)],
  ])("is not where it is one that %s (hazard 3)", (_what, spoil) => {
    spoil();
    expect(openTrays(link)).toBeUndefined();
  });

  it.runIf(geteuid?.() === 0)("is not where it is another user's", () => {
    chownSync(file, 4242, 4242);
    expect(openTrays(link)).toBeUndefined();
  });
});
