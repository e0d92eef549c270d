import type { AppError } from "../core/errors.ts";
import type { Id, Message } from "./message.ts";

/** Receives what a hosted server sends. */
export interface Hearer {
  /** `about`: our id of the request on whose stream it came, where a server over HTTP says so. */
  hear(message: Message, about: Id | undefined): void;
  /** Bytes came that are no message. `id`: of the request that they were to answer; undefined: of none, or of nobody knows which. */
  fail(error: AppError, id: Id | undefined): void;
}

/** Carries messages to one hosted server and back. */
export interface Line {
  /** Resolves when the message has left. `gone`: nobody waits for its answer. */
  send(message: Message, gone?: AbortSignal): Promise<void>;
  close(): void;
}
