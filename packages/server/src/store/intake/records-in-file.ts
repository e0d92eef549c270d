import { closeSync, constants, openSync, readSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { errnoOf } from "../../core/errors.ts";
import { storeLimits } from "../../core/store-limits.ts";
import type { IntakeStart } from "../sqlite-protocol.ts";
import type { Step } from "../writer.ts";
import { intakePathOf } from "./intake-path.ts";
import { decodeRecord, recordBytes, sizeOf } from "./record.ts";

/** The last record that is known, and where the next one starts. */
export type Position = Omit<IntakeStart, "salt">;

/** Most records are shorter than the first; none is longer than the second. */
const usualBytes = 8192;
const block = Buffer.allocUnsafeSlow(recordBytes(storeLimits.intake.recordCharacters));

/** How far the database is; undefined where it knows of no intake. */
export function readStart(db: DatabaseSync): IntakeStart | undefined {
  if (db.prepare("select 1 from sqlite_schema where name = 'intake'").get() === undefined) return undefined;
  const row = db.prepare("select salt, number, next_at from intake").get();
  if (row === undefined) return undefined;
  return { salt: Number(row.salt), number: Number(row.number), offset: Number(row.next_at) };
}

/** Entries that were acknowledged and are not in the database: of a daemon that runs those of the last moment, of a killed one what it left. */
export function countWaiting(db: DatabaseSync, databasePath: string): number {
  const start = readStart(db);
  const fd = start === undefined ? undefined : openIfThere(intakePathOf(databasePath));
  if (start === undefined || fd === undefined) return 0;
  const { salt, ...position } = start;
  let entries = 0;
  try {
    for (;;) {
      const steps = takeNext(fd, salt, position);
      if (steps === undefined) return entries;
      entries += steps.filter(({ op }) => op === "append").length;
    }
  } finally {
    closeSync(fd);
  }
}

export function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The steps of the record that follows, which starts where the last one ended or at the start again. */
export function takeNext(fd: number, salt: number, position: Position): Step[] | undefined {
  for (const offset of [position.offset, 0]) {
    const found = readAt(fd, salt, offset);
    if (found?.number !== position.number + 1) continue;
    position.number = found.number;
    position.offset = offset + found.size;
    return JSON.parse(found.text) as Step[];
  }
  return undefined;
}

export function readAt(fd: number, salt: number, offset: number) {
  const start = readBytes(fd, offset, usualBytes);
  const size = sizeOf(start);
  if (size > block.length) return undefined;
  return decodeRecord(size <= start.length ? start : readBytes(fd, offset, size), salt);
}

/** Of the last read alone. */
function readBytes(fd: number, offset: number, size: number): Buffer {
  return block.subarray(0, readSync(fd, block, 0, size, offset));
}
