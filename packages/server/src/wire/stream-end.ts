import type { AppError } from "../core/errors.ts";
import type { ReceiveBuffer } from "./receive-buffers.ts";

/** What takes the guest's frames of one stream. Each throws WireViolation for what an honest guest does not send. */
export interface StreamEnd {
  /** `buffer` is where the chunk lies, unless the chunk is a copy. */
  onData(channel: number, offset: number, chunk: Buffer, buffer?: ReceiveBuffer): void;
  onStarted(value: number, payload: Buffer): void;
  onCredit(offset: number): void;
  onEnd(channel: number, offset: number): void;
  onExit(payload: Buffer): void;
  /** The sandbox is lost, or refused the stream. */
  fail(error: AppError): void;
}
