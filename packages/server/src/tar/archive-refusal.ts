import { AppError } from "../core/errors.ts";

/** Names in it are hostile. */
export function refuseArchive(why: string): AppError {
  return new AppError("invalid", `the archive is refused: ${why.replaceAll(/[^\x20-\x7e]/g, "?")}`);
}

/** A name as a refusal shows it. */
export function quoted(name: string): string {
  return `"${name.slice(0, 200)}"`;
}
