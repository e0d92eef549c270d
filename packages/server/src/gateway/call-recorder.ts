import type { Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import type { ServerRecord } from "../core/server.ts";
import { type CallContent, recordToolCall } from "../journal/record-tool-call.ts";
import type { CallCounts } from "./call-stats.ts";
import { type Answer, isRecord, type Message, type Request, type RpcError } from "./message.ts";
import { RefusedByServer } from "./rpc-error.ts";

export interface CallRecorderParts {
  journal: Pick<Recorder, "record" | "requireRoom">;
  content: CallContent;
  counts: CallCounts;
}

interface Call {
  caller: Caller;
  server: ServerRecord;
  /** Client's session, by a name that opens nothing. */
  session: string;
}

/** Records every call of a tool, also one that was refused, before the client gets its answer (AUD-02). */
export class CallRecorder {
  readonly #parts: CallRecorderParts;

  constructor(parts: CallRecorderParts) {
    this.#parts = parts;
  }

  /** `work` gets what it needs to say which message was sent: that one is recorded. */
  async during(
    call: Call,
    asked: Request,
    work: (sent: (message: Request) => void) => Promise<Answer>,
  ): Promise<Answer> {
    if (asked.method !== "tools/call") return work(() => undefined);
    this.#parts.journal.requireRoom(call.caller.principal);
    const startMs = performance.now();
    let message = asked;
    const end = (outcome: Outcome) => this.#end(call, message, performance.now() - startMs, outcome);
    let answer: Answer;
    try {
      answer = await work((sent) => {
        message = sent;
      });
    } catch (error) {
      await end({ error });
      throw error;
    }
    await end(outcomeOf(answer));
    return answer;
  }

  async #end({ caller, server, session }: Call, message: Request, durationMs: number, outcome: Outcome): Promise<void> {
    this.#parts.counts.add(server.id, durationMs, "error" in outcome || outcome.failed);
    const { name, arguments: given } = message.params ?? {};
    const tool = typeof name === "string" ? name.slice(0, TOOL_CHARS) : "";
    await recordToolCall(this.#parts, {
      caller,
      tool,
      session,
      sandboxId: null,
      serverId: server.id,
      given,
      durationMs,
      outcome,
    });
  }
}

/** Characters of a tool's name in the log. */
const TOOL_CHARS = 256;

type Outcome = { result: object; failed: boolean } | { error: unknown };

function outcomeOf(answer: Exclude<Message, { method: string }>): Outcome {
  if ("error" in answer) return { error: new RefusedByServer(answer.error as RpcError) };
  return { result: answer.result, failed: isRecord(answer.result) && answer.result.isError === true };
}
