import { randomInt } from "node:crypto";
import { closeSync, constants, existsSync, fstatSync, ftruncateSync, openSync, unlinkSync, writeSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { AppError, errnoOf } from "../../core/errors.ts";
import { storeLimits } from "../../core/store-limits.ts";
import { brokenEntry } from "../audit/broken-entry.ts";
import type { IntakeStart } from "../sqlite-protocol.ts";
import type { Step, Writer } from "../writer.ts";
import { intakePathOf } from "./intake-path.ts";
import { type Position, readAt, readStart, takeNext } from "./records-in-file.ts";

const limits = storeLimits.intake;

const table =
  "create table if not exists intake (salt integer not null, number integer not null, position integer not null)";

/** The other end of the intake: brings records into the database, in their order and each once, since how far it is stands there too. */
export class IntakeReader {
  readonly #path: string;
  readonly #fd: number;
  readonly #note: StatementSync;
  readonly #salt: number;
  #position: Position;
  /** Of the transaction. */
  #next: Position;
  /** Up to here there are records. */
  #written: number;

  private constructor(path: string, fd: number, db: DatabaseSync, { salt, number, offset }: IntakeStart) {
    this.#path = path;
    this.#fd = fd;
    this.#salt = salt;
    this.#position = { number, offset };
    this.#next = this.#position;
    this.#written = number;
    this.#note = db.prepare("update intake set number = ?, position = ?");
  }

  /**
   * Brings in what an earlier process has left; all of it or nothing. Undefined where the disk has no room for one: then
   * everything goes the other way.
   */
  static open(db: DatabaseSync, databasePath: string, writer: Writer): IntakeReader | undefined {
    const path = intakePathOf(databasePath);
    const wasLeft = existsSync(path);
    const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
    const fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    try {
      if (wasLeft || readStart(db) === undefined) bringLeft(db, fd, writer);
      const start = readStart(db);
      if (start !== undefined && hasRoom(fd)) return new IntakeReader(path, fd, db, start);
      closeSync(fd);
      return undefined;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** There are records up to this one. */
  told(written: number): void {
    this.#written = written;
  }

  get isBehind(): boolean {
    return this.#position.number < this.#written;
  }

  get position(): Position {
    return this.#position;
  }

  /** For the writer, before it writes. */
  get start(): IntakeStart {
    return { salt: this.#salt, ...this.#position };
  }

  /** All that there is, within a transaction of its caller. */
  apply(run: (step: Step) => void): void {
    this.#next = { ...this.#position };
    while (this.#next.number < this.#written) {
      const found = takeNext(this.#fd, this.#salt, this.#next);
      if (found === undefined) throw new AppError("internal", `record ${this.#next.number + 1} of the intake is gone`);
      for (const step of found) run(step);
    }
    this.#note.run(this.#next.number, this.#next.offset);
  }

  committed(): void {
    this.#position = this.#next;
  }

  /** It is not needed where all is in the database, and on the disk there. */
  close(): void {
    closeSync(this.#fd);
    if (!this.isBehind) unlinkSync(this.#path);
  }
}

/** Its blocks are there before they are needed: a write that finds them takes less, and needs no room. */
function hasRoom(fd: number): boolean {
  const { size } = fstatSync(fd);
  const lacking = limits.bytes - size;
  if (lacking <= 0) return true;
  let written = 0;
  try {
    written = writeSync(fd, Buffer.alloc(lacking), 0, lacking, size);
  } catch (error) {
    if (errnoOf(error) !== "ENOSPC" && errnoOf(error) !== "EDQUOT") throw error;
  }
  if (written < lacking) ftruncateSync(fd, size);
  return written === lacking;
}

/** And begins anew: with another salt nothing that lies there is one of the next records. */
function bringLeft(db: DatabaseSync, fd: number, writer: Writer): void {
  writer.begin();
  try {
    db.exec(table);
    const start = readStart(db);
    if (start !== undefined) bring(fd, start, (step) => writer.step(step));
    db.exec("delete from intake");
    db.prepare("insert into intake values (?, 0, 0)").run(randomInt(1, 2 ** 32));
    writer.commit();
  } catch (error) {
    writer.rollback();
    throw error;
  }
}

function bring(fd: number, { salt, ...position }: IntakeStart, run: (step: Step) => void): void {
  for (;;) {
    const found = takeNext(fd, salt, position);
    if (found === undefined) break;
    for (const step of found) run(step);
  }
  // Of a copy whose parts are of different times.
  const first = readAt(fd, salt, 0);
  const entry = brokenEntry("entries that waited for their place in the log were gone");
  if (first !== undefined && first.number > position.number) run({ op: "append", id: 0, entry, atMs: Date.now() });
}
