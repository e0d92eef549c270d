import type { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import type { ServerEra, ServerRecord } from "../core/server.ts";
import type { Message, Request } from "./message.ts";

/** Facts that stages decide by, beside the message. */
export interface CallContext {
  readonly caller: Caller;
  readonly server: ServerRecord;
  readonly era: ServerEra;
  /** The request that an answer belongs to, as it was sent. */
  readonly request?: Request;
}

export type Verdict =
  | { kind: "pass" }
  /** The next stages judge the other message, and it is the one that is sent. */
  | { kind: "change"; message: Message }
  | { kind: "refuse"; error: AppError }
  /** Somebody is asked first. The message is judged by the answer. */
  | { kind: "wait"; answer: Promise<Verdict> };

/** One look at a message. It changes nothing itself. */
export type Stage = (message: Message, context: CallContext) => Verdict | Promise<Verdict>;

export const pass: Verdict = { kind: "pass" };
export const change = (message: Message): Verdict => ({ kind: "change", message });
export const refuse = (error: AppError): Verdict => ({ kind: "refuse", error });

/** The message that may pass: the one that the last stage saw. Throws the refusal of the first stage that refuses. */
export async function judge(stages: readonly Stage[], message: Message, context: CallContext): Promise<Message> {
  let judged = message;
  for (const stage of stages) {
    let verdict = await stage(judged, context);
    while (verdict.kind === "wait") verdict = await verdict.answer;
    if (verdict.kind === "refuse") throw verdict.error;
    if (verdict.kind === "change") judged = verdict.message;
  }
  return judged;
}
