import { randomInt } from "node:crypto";
import { closeSync, constants, fdatasync, openSync, rmSync, writeSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { AppError, errnoOf } from "../../core/errors.ts";
import { storeLimits } from "../../core/store-limits.ts";
import type { IntakeStart } from "../sqlite-protocol.ts";
import type { Step } from "../writer.ts";
import { intakePathOf } from "./intake-path.ts";
import { type Position, readStart, takeNext } from "./records-in-file.ts";

const limits = storeLimits.intake;

/** The other end of the intake: gives records their place in the database, in their order and each once, since how far it is stands there too. */
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
    this.#note = db.prepare("update intake set number = ?, next_at = ?");
  }

  /** Undefined where the database knows of none, or the disk has no room for it: then everything goes the other way. */
  static open(db: DatabaseSync, databasePath: string): IntakeReader | undefined {
    const start = readStart(db);
    if (start === undefined) return undefined;
    const path = intakePathOf(databasePath);
    const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
    const fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    try {
      if (hasRoom(fd)) return new IntakeReader(path, fd, db, start.salt === 0 ? drawSalt(db) : start);
      rmSync(path);
      closeSync(fd);
      return undefined;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** There are records up to this one. */
  told(written: number): void {
    this.#written = Math.max(this.#written, written);
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

  /** Brings it to the disk itself: what cannot be brought into the database does not come there with that. */
  sync(failed: (error: Error) => void): void {
    fdatasync(this.#fd, (error) => {
      if (error !== null) failed(error);
    });
  }

  /** It is not needed where all is in the database, and on the disk there. */
  close(): void {
    closeSync(this.#fd);
    if (!this.isBehind) rmSync(this.#path, { force: true });
  }
}

/** With another salt nothing that lies there is one of the next records. */
export function drawSalt(db: DatabaseSync): IntakeStart {
  const salt = randomInt(1, 2 ** 32);
  db.prepare("update intake set salt = ?, number = 0, next_at = 0").run(salt);
  return { salt, number: 0, offset: 0 };
}

/**
 * Its blocks are there before they are needed, also those that a copy left out: laying down needs no room then. What lay
 * there is in the database.
 */
function hasRoom(fd: number): boolean {
  try {
    return writeSync(fd, Buffer.alloc(limits.bytes), 0, limits.bytes, 0) === limits.bytes;
  } catch (error) {
    if (errnoOf(error) !== "ENOSPC" && errnoOf(error) !== "EDQUOT") throw error;
    return false;
  }
}
