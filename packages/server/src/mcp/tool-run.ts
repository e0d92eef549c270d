import type { CallToolResult, LoggingLevel, ServerContext } from "@modelcontextprotocol/server";
import type { Approval } from "../core/approval.ts";
import type { Journal } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import { QuestionWatch } from "../mcp-protocol/question-watch.ts";
import { callTool } from "../tools/call-tool.ts";
import { Lifeline } from "../tools/lifeline.ts";
import type { Tool, ToolCall } from "../tools/tool.ts";
import { CallLog } from "./call-log.ts";
import { Progress } from "./progress.ts";
import type { McpParts } from "./server.ts";
import { toCallResult, toErrorResult } from "./tool-result.ts";

export interface ToolRunParts {
  mcp: McpParts;
  tool: Tool;
  given: unknown;
  caller: Caller;
  session: string;
  /** Whether questions may be put to the user at the client. */
  asks: boolean;
  claimed: Set<string>;
}

/** A tool at work. Requests come to wait for it one after the other: one that leaves with a question comes back with the answer. */
export class ToolRun {
  readonly #lifeline: Lifeline;
  readonly #logged: { journal: Journal; namespace: string };
  readonly #done: Promise<CallToolResult>;
  readonly #over = new Map<string, AbortController>();
  #unasked: Approval[] = [];
  #result: CallToolResult | undefined;
  #wake: (() => void) | undefined;
  #progress: Progress | undefined;
  #watch: QuestionWatch | undefined;
  #isAttended = false;

  constructor(parts: ToolRunParts, context: ServerContext) {
    const { mcp, caller } = parts;
    this.#lifeline = new Lifeline({ caller, parts: mcp.parts });
    this.#logged = { journal: mcp.parts.journal, namespace: caller.principal.namespace };
    this.#done = this.#run(parts, context.mcpReq._meta?.progressToken !== undefined).then((result) => {
      this.#result = result;
      return result;
    });
  }

  /** The client is gone. */
  lose(reason: unknown): Promise<void> {
    return this.#lifeline.lose(reason);
  }

  cancel(reason: unknown): void {
    this.#lifeline.cancel(reason);
  }

  /** What comes first: the result, or questions that were not put yet. */
  async next(): Promise<CallToolResult | Approval[]> {
    for (;;) {
      if (this.#result !== undefined) return this.#result; // nobody waits for the answers any more
      const questions = this.#unasked.splice(0);
      if (questions.length > 0) return questions;
      const woken = new Promise<undefined>((resolve) => {
        this.#wake = () => resolve(undefined);
      });
      const result = await Promise.race([this.#done, woken]);
      if (result !== undefined) return result;
    }
  }

  /** Aborted when a question needs no answer any more, or the user gives none. */
  over(approvalId: string): AbortSignal {
    return this.#overOf(approvalId).signal;
  }

  /** The user has answered, or will not. */
  close(approvalId: string): void {
    this.#overOf(approvalId).abort();
  }

  tell(message: string): void {
    this.#progress?.tell(message);
  }

  /** Ties it to the request that waits for it. Returns what unties it, with all told that was to be told there. */
  attach(context: ServerContext, level: LoggingLevel | undefined): () => Promise<void> {
    const cancelled = context.mcpReq.signal;
    const gone = context.http?.req?.signal;
    const progress = Progress.of(context);
    const log = CallLog.of({ ...this.#logged, used: this.#lifeline.used, level }, context);
    this.#progress = progress;
    this.#isAttended = true;
    void this.#watch?.attend();
    const end = () => {
      if (gone?.aborted) void this.lose(gone.reason);
      else this.cancel(cancelled.reason);
    };
    const signals = gone === undefined ? [cancelled] : [cancelled, gone];
    for (const signal of signals) signal.addEventListener("abort", end, { once: true });
    if (signals.some(({ aborted }) => aborted)) end();
    return async () => {
      for (const signal of signals) signal.removeEventListener("abort", end);
      this.#progress = undefined;
      this.#isAttended = false;
      await progress?.flush();
      await log?.end();
    };
  }

  async #run(
    { mcp, tool, given, caller, session, asks, claimed }: ToolRunParts,
    streams: boolean,
  ): Promise<CallToolResult> {
    const { parts, report } = mcp;
    const { signal, using, used } = this.#lifeline;
    try {
      await using watch = asks
        ? new QuestionWatch({
            ...{ caller, parts, used, claimed },
            isAttended: () => this.#isAttended,
            asked: (approval) => this.#ask(approval),
            settled: (id) => this.close(id),
          })
        : undefined;
      this.#watch = watch;
      const progress = (message: string) => this.tell(message);
      const answering = (id: string) => this.over(id);
      const call: ToolCall = {
        ...{ caller, parts, signal, session, using },
        ...(streams && { progress }),
        ...(asks && { answering }),
      };
      return toCallResult(tool, await callTool(tool, call, given));
    } catch (error) {
      return toErrorResult(report(error));
    }
  }

  #ask(approval: Approval): void {
    this.#unasked.push(approval);
    this.#wake?.();
  }

  #overOf(approvalId: string): AbortController {
    const over = this.#over.get(approvalId) ?? new AbortController();
    this.#over.set(approvalId, over);
    return over;
  }
}
