/** A server that is asked by its check. Whatever it answers is a stranger's. */
import { AppError } from "../../core/errors.ts";
import { jsonLimits } from "../../core/json-limits.ts";
import { parseJson } from "../../core/parse-json.ts";
import { serverLimits } from "../limits.ts";

export type Answer = { result: Record<string, unknown> } | { error: { code: number; message: string } };

export interface Peer extends AsyncDisposable {
  /** Resolves with its answer, an error of the server's included; rejects when there is none. */
  ask(method: string, params: Record<string, unknown>): Promise<Answer>;
  tell(method: string): Promise<void>;
  /** From now on the protocol of this revision is spoken. */
  agree(protocolVersion: string, isModern: boolean): void;
}

/** Counts what one check reads of a server. */
export class Budget {
  #left: number = serverLimits.checkBytes;

  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0)
      throw new AppError("too_large", `the server sent more than ${serverLimits.checkBytes} bytes before it was ready`);
  }
}

type Names = Record<string, unknown>;
const isNames = (value: unknown): value is Names =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The answer to a request in a text; undefined for any other message, and for what is none. */
export function answerIn(text: string, id: string): Answer | undefined {
  let message: unknown;
  try {
    message = parseJson(text, jsonLimits.data);
  } catch (error) {
    if (error instanceof AppError) throw error;
    return undefined;
  }
  if (!isNames(message) || message.jsonrpc !== "2.0" || message.id !== id) return undefined;
  if (isNames(message.result)) return { result: message.result };
  const { error } = message;
  if (!isNames(error) || typeof error.code !== "number") return undefined;
  return { error: { code: error.code, message: String(error.message ?? "").slice(0, 1_000) } };
}
