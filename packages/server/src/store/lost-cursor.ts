import { AppError } from "../core/errors.ts";

export function lostCursor(): AppError {
  return new AppError("invalid", "this cursor leads nowhere any more", { hint: "list again from the beginning" });
}
