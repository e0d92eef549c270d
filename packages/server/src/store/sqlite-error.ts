import { AppError, type ErrorCode, type ErrorDetail, errnoOf } from "../core/errors.ts";
import type { ErrorNote } from "./sqlite-protocol.ts";

/** SQLite's result codes, by the low byte. */
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const CONSTRAINT = 19;
const NOTADB = 26;

interface Meaning {
  code: ErrorCode;
  what: string;
  detail?: ErrorDetail;
}

const damaged: Meaning = {
  code: "unavailable",
  what: "is damaged, or is no database",
  detail: { hint: "put a copy from before in its place; caisson audit verify says what of it is whole" },
};
const locked: Meaning = {
  code: "unavailable",
  what: "is locked by another program",
  detail: { hint: "end what has it open for writing", retryAfterMs: 1_000 },
};

const meanings: Readonly<Record<number, Meaning>> = {
  [BUSY]: locked,
  [LOCKED]: locked,
  [READONLY]: {
    code: "unavailable",
    what: "cannot be written",
    detail: { hint: "let the daemon's user write the file and its folder" },
  },
  [IOERR]: { code: "unavailable", what: "met an error of its disk", detail: { retryAfterMs: 5_000 } },
  [CORRUPT]: damaged,
  [NOTADB]: damaged,
  [FULL]: {
    code: "limit_exceeded",
    what: "has no room left on its disk",
    detail: { hint: "free some room there; nothing needs to be restarted", details: { errno: "ENOSPC" } },
  },
  [CANTOPEN]: {
    code: "unavailable",
    what: "cannot be opened",
    detail: { hint: "let the daemon's user write the file and its folder" },
  },
  [CONSTRAINT]: { code: "conflict", what: "holds something that contradicts this" },
};

export function isBusy(note: ErrorNote): boolean {
  const kind = (note.code ?? 0) & 0xff;
  return kind === BUSY || kind === LOCKED;
}

export function isConflict(note: ErrorNote): boolean {
  return ((note.code ?? 0) & 0xff) === CONSTRAINT;
}

export function noteOf(error: unknown): ErrorNote {
  if (!(error instanceof Error)) return { message: String(error) };
  const note: ErrorNote = { message: error.message };
  if ("errcode" in error && typeof error.errcode === "number") note.code = error.errcode;
  // A system error: no permission, no file.
  if (note.code === undefined && errnoOf(error)?.startsWith("E") && "syscall" in error) note.refused = "unavailable";
  if (error instanceof AppError) {
    note.refused = error.code;
    if (error.hint !== undefined) note.hint = error.hint;
  }
  return note;
}

/** What went wrong in the store, for its caller. Messages of SQLite name tables and columns, never values. */
export function toAppError(note: ErrorNote): AppError {
  const { refused, message, hint } = note;
  if (refused !== undefined) return new AppError(refused, message, hint === undefined ? {} : { hint });
  const meaning = meanings[(note.code ?? 0) & 0xff];
  if (meaning === undefined) return new AppError("internal", `the store: ${note.message}`);
  const details = { ...meaning.detail?.details, sqlite: note.message };
  return new AppError(meaning.code, `the store ${meaning.what}`, { ...meaning.detail, details });
}
