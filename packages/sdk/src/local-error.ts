import { CaissonError, type ErrorCode } from "./error.ts";

/** There is no daemon that this program may use. */
export class LocalError extends CaissonError {
  override readonly name = "LocalError";
  readonly code: ErrorCode;
  readonly hint: string;

  constructor(code: ErrorCode, message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.hint = hint;
  }
}
