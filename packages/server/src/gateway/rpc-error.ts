import { AppError, type ErrorDetail } from "../core/errors.ts";
import { toProtocolError } from "../mcp-protocol/protocol-error.ts";
import type { Failure, Id, RpcError } from "./message.ts";

export const rpcCodes = {
  methodNotFound: -32_601,
  headerMismatch: -32_020,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const;

/** An error that the protocol has a code of its own for. */
export class RpcRefusal extends AppError {
  readonly rpcCode: number;
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(
    rpcCode: number,
    message: string,
    { data, ...detail }: ErrorDetail & { data?: Record<string, unknown> } = {},
  ) {
    super(rpcCode === rpcCodes.methodNotFound ? "unsupported" : "invalid", message, detail);
    this.rpcCode = rpcCode;
    this.data = data;
  }
}

/** A failure of the gateway's own, as clients read it. What nobody foresaw tells nothing of itself. */
export function toFailure(id: Id, error: unknown): Failure {
  const known =
    error instanceof AppError ? error : new AppError("internal", "internal error; the daemon's log has the details");
  const { code, message, data } = toProtocolError(known);
  const hinted = known.hint === undefined ? message : `${message} (${known.hint})`;
  if (!(known instanceof RpcRefusal)) return { jsonrpc: "2.0", id, error: { code, message: hinted, data } };
  const own = { ...(known.hint === undefined ? {} : { hint: known.hint }), ...known.data };
  return { jsonrpc: "2.0", id, error: { code: known.rpcCode, message: hinted, data: own } };
}

const requestErrors: readonly number[] = [-32_700, -32_600, -32_601, -32_602, -32_020, -32_021, -32_022];

/** An error that a hosted server has answered, as the log has it. */
export class RefusedByServer extends AppError {
  constructor({ code, message }: RpcError) {
    super(requestErrors.includes(code) ? "invalid" : "unavailable", message);
  }
}
