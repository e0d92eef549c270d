import { hash, randomBytes } from "node:crypto";
import {
  type CallToolResult,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Approval } from "../core/approval.ts";
import type { Caller } from "../core/principal.ts";
import { isAllowed } from "../core/scope.ts";
import { ownerOf } from "../mcp-protocol/caller.ts";
import { canAsk, isModern } from "../mcp-protocol/client-era.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { ParkedCalls } from "../mcp-protocol/parked-calls.ts";
import { toDecision, toForm, type UserAnswer } from "../mcp-protocol/question-form.ts";
import type { Tool } from "../tools/tool.ts";
import type { McpClient, McpParts } from "./server.ts";
import { toErrorResult } from "./tool-result.ts";
import { ToolRun } from "./tool-run.ts";

interface CallState {
  parked: string;
}

/**
 * Calls of tools, and the questions to humans that come up meanwhile: they are put to the client's user where the client can
 * do that and the caller may decide (MCP-08). An agent's key may not, so its questions wait for an operator.
 */
export class ToolCalls implements Disposable {
  readonly #parked = new ParkedCalls<ToolRun>();
  readonly #claimed = new Set<string>();
  readonly #codec: RequestStateCodec<CallState>;

  constructor(client: Pick<McpClient, "caller">) {
    this.#codec = createRequestStateCodec<CallState>({
      key: randomBytes(32),
      ttlSeconds: mcpLimits.parkedMs / 1000,
      bind: (context) => `${context.mcpReq.method}\0${ownerOf(client.caller(context))}`,
    });
  }

  get verify(): RequestStateCodec<CallState>["verify"] {
    return this.#codec.verify;
  }

  async call(
    mcp: McpParts,
    { server, client, tool }: { server: McpServer; client: McpClient; tool: Tool },
    given: unknown,
    context: ServerContext,
  ): Promise<CallToolResult | InputRequiredResult> {
    try {
      const caller = client.caller(context);
      const owner = ownerOf(caller);
      const call = hash("sha256", JSON.stringify([tool.name, given]));
      const state = context.mcpReq.requestState<CallState>();
      const asks = mcp.parts.approvals.attended && canAsk(server, context) && isAllowed(caller.principal, "operate");
      const parked = state === undefined ? undefined : this.#parked.take(state.parked, owner, call);
      const parts = { mcp, tool, given, caller, session: client.session, asks, claimed: this.#claimed };
      const run = parked?.run ?? new ToolRun(parts, context);
      const detach = run.attach(context, client.logLevel);
      try {
        for (const approval of parked?.questions ?? []) {
          const answer = inputResponse(context.mcpReq.inputResponses, approval.id);
          if (answer.kind === "elicit") await this.#decide(mcp, caller, run, approval, answer);
        }
        return await this.#wait(mcp, run, { owner, call, caller }, context);
      } finally {
        await detach();
      }
    } catch (error) {
      return toErrorResult(mcp.report(error));
    }
  }

  async #wait(
    mcp: McpParts,
    run: ToolRun,
    { owner, call, caller }: { owner: string; call: string; caller: Caller },
    context: ServerContext,
  ): Promise<CallToolResult | InputRequiredResult> {
    for (;;) {
      const next = await run.next();
      if (!Array.isArray(next)) return next;
      if (!isModern(context)) {
        for (const approval of next) void this.#push(mcp, caller, run, approval, context);
        continue;
      }
      if (!this.#parked.hasRoom(owner)) continue; // they wait for an answer by CLI or REST
      const parked = this.#parked.put({ run, owner, call, questions: next });
      return inputRequired({
        inputRequests: Object.fromEntries(next.map((one) => [one.id, inputRequired.elicit(toForm(one))])),
        requestState: await this.#codec.mint({ parked }, context),
      });
    }
  }

  /** To a client up to 2025-11-25: on the stream of its call, which goes on meanwhile. */
  async #push(mcp: McpParts, caller: Caller, run: ToolRun, approval: Approval, { mcpReq }: ServerContext) {
    const timeout = Math.max(1, approval.expiresAtMs - Date.now());
    // elicitInput would put it on the session's own stream, which a client need not have open.
    const answer = await mcpReq
      .send(
        { method: "elicitation/create", params: { ...toForm(approval) } },
        { signal: run.over(approval.id), timeout },
      )
      .catch(() => undefined);
    if (answer === undefined) run.close(approval.id);
    else await this.#decide(mcp, caller, run, approval, answer);
  }

  /** Whoever has not decided leaves the question to others. */
  async #decide({ parts, report }: McpParts, caller: Caller, run: ToolRun, approval: Approval, answer: UserAnswer) {
    const decision = toDecision(approval, answer);
    try {
      if (decision !== undefined) await parts.approvals.decide(caller, approval.id, decision);
    } catch (error) {
      run.tell(`the answer was not taken: ${report(error).message}\n`);
    } finally {
      run.close(approval.id);
    }
  }

  [Symbol.dispose](): void {
    this.#parked[Symbol.dispose]();
  }
}
