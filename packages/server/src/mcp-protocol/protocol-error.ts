import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from "@modelcontextprotocol/server";
import type { AppError, ErrorCode } from "../core/errors.ts";

const codes: Readonly<Partial<Record<ErrorCode, ProtocolErrorCode>>> = {
  internal: ProtocolErrorCode.InternalError,
  unavailable: ProtocolErrorCode.InternalError,
  timeout: ProtocolErrorCode.InternalError,
};

/** A failure of what is not a tool, as the protocol tells it. */
export function toProtocolError({ code, message, hint, details }: AppError, uri?: string): ProtocolError {
  if (code === "not_found" && uri !== undefined) return new ResourceNotFoundError(uri);
  return new ProtocolError(codes[code] ?? ProtocolErrorCode.InvalidParams, message, { error: code, hint, details });
}
