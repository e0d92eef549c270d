import { closeSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { AppError } from "../../core/errors.ts";
import { brokenEntry } from "../audit/broken-entry.ts";
import { isConflict, noteOf } from "../sqlite-error.ts";
import type { ErrorNote } from "../sqlite-protocol.ts";
import type { Step, Writer } from "../writer.ts";
import { intakePathOf } from "./intake-path.ts";
import { drawSalt } from "./intake-reader.ts";
import { openIfThere, readAt, readStart, takeNext } from "./records-in-file.ts";

type Run = (step: Step) => void;

/**
 * Steps in one transaction, all of them or none. A step that can never go through takes nothing else with it: for what is
 * there already, or for what it is. Tells of those.
 */
export function bringIn(writer: Writer, apply: (run: Run) => void): ErrorNote[] {
  const refused: ErrorNote[] = [];
  const run: Run = (step) => {
    try {
      writer.step(step);
    } catch (error) {
      const note = noteOf(error);
      if (!isConflict(note) && !(error instanceof AppError)) throw error;
      refused.push(note);
    }
  };
  try {
    writer.begin();
    apply(run);
    writer.commit();
    return refused;
  } catch (error) {
    writer.rollback();
    throw error;
  }
}

/** What an earlier process left, before the schema changes for which it was said. Undefined where there is no intake. */
export function bringInLeft(db: DatabaseSync, databasePath: string, writer: Writer): ErrorNote[] | undefined {
  const start = readStart(db);
  const fd = start === undefined ? undefined : openIfThere(intakePathOf(databasePath));
  if (start === undefined || fd === undefined) return undefined;
  const { salt, ...position } = start;
  try {
    return bringIn(writer, (run) => {
      for (;;) {
        const found = takeNext(fd, salt, position);
        if (found === undefined) break;
        for (const step of found) run(step);
      }
      // Of a copy whose parts are of different times.
      const first = readAt(fd, salt, 0);
      const entry = brokenEntry("entries that waited for their place in the log were gone");
      if (first !== undefined && first.number > position.number) run({ op: "append", id: 0, entry, atMs: Date.now() });
      drawSalt(db);
    });
  } finally {
    closeSync(fd);
  }
}
