import {
  type CallToolResult,
  type ClientCapabilities,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Offer } from "../../../packages/server/src/mcp/server.ts";
import { text } from "./content.ts";

const askText = (message: string, field: string) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { [field]: { type: "string" } }, required: [field] },
  });
const askModel = (prompt: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: "user", content: text(prompt) }], maxTokens });
const askToConfirm = () =>
  inputRequired.elicit({
    message: "Please confirm",
    requestedSchema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
  });

const accepted = z.object({ action: z.literal("accept"), content: z.record(z.string(), z.unknown()) });

/** The field of an answer that was given; undefined for one that is missing or is none. */
function answer({ mcpReq }: ServerContext, key: string, field: string): unknown {
  const read = accepted.safeParse(mcpReq.inputResponses?.[key]);
  return read.success ? read.data.content[field] : undefined;
}

const has = ({ mcpReq }: ServerContext, key: string) => mcpReq.inputResponses?.[key] !== undefined;
const say = (value: string): CallToolResult => ({ content: [text(value)] });

type Asking = (
  context: ServerContext,
  seal: RequestStateCodec,
  can: ClientCapabilities,
) => Promise<CallToolResult | InputRequiredResult>;

const asking: Record<string, Asking> = {
  test_input_required_result_elicitation: async (context) => {
    const name = answer(context, "user_name", "name");
    if (typeof name === "string") return say(`Hello, ${name}!`);
    return inputRequired({ inputRequests: { user_name: askText("What is your name?", "name") } });
  },
  test_input_required_result_sampling: async (context) => {
    if (has(context, "capital_question")) return say(JSON.stringify(context.mcpReq.inputResponses));
    return inputRequired({ inputRequests: { capital_question: askModel("What is the capital of France?", 100) } });
  },
  test_input_required_result_list_roots: async (context) => {
    if (has(context, "client_roots")) return say(JSON.stringify(context.mcpReq.inputResponses));
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  },
  test_input_required_result_request_state: async (context, seal) => {
    if (context.mcpReq.requestState() !== undefined) return say("state-ok");
    const requestState = await seal.mint({ round: 1 }, context);
    return inputRequired({ inputRequests: { confirm: askToConfirm() }, requestState });
  },
  test_input_required_result_tampered_state: async (context, seal) => {
    if (context.mcpReq.requestState() !== undefined) return say("state-ok");
    const requestState = await seal.mint({ round: 1 }, context);
    return inputRequired({ inputRequests: { confirm: askToConfirm() }, requestState });
  },
  test_input_required_result_multiple_inputs: async (context, seal) => {
    const inputRequests: InputRequests = {
      user_name: askText("What is your name?", "name"),
      greeting: askModel("Generate a greeting", 50),
      client_roots: inputRequired.listRoots(),
    };
    if (Object.keys(inputRequests).every((key) => has(context, key))) return say("all answered");
    return inputRequired({ inputRequests, requestState: await seal.mint({}, context) });
  },
  test_input_required_result_multi_round: async (context, seal) => {
    const { round = 0 } = context.mcpReq.requestState<{ round: number }>() ?? {};
    if (round === 2) return say("done");
    const step =
      round === 0
        ? { step1: askText("Step 1: What is your name?", "name") }
        : { step2: askText("Step 2: What is your favorite color?", "color") };
    return inputRequired({ inputRequests: step, requestState: await seal.mint({ round: round + 1 }, context) });
  },
  test_input_required_result_capabilities: async (_context, _seal, can) => {
    const inputRequests: InputRequests = {
      ...(can.elicitation && { name: askText("What is your name?", "name") }),
      ...(can.sampling && { greeting: askModel("Generate a greeting", 50) }),
    };
    return inputRequired({ inputRequests });
  },
  test_missing_capability: async () =>
    inputRequired({ inputRequests: { greeting: askModel("Generate a greeting", 50) } }),
  test_streaming_elicitation: async (context) => {
    const name = answer(context, "user_name", "name");
    if (typeof name === "string") return say(`Hello, ${name}!`);
    return inputRequired({ inputRequests: { user_name: askText("What is your name?", "name") } });
  },
};

/** Tools, and one prompt, that ask before they answer, as 2026-07-28 has it. */
export const fixtureQuestions =
  (seal: RequestStateCodec): Offer =>
  (server) => {
    for (const [name, act] of Object.entries(asking))
      server.registerTool(name, { description: `${name} of the suite`, inputSchema: z.object({}) }, (_, context) =>
        act(context, seal, server.server.getClientCapabilities() ?? {}),
      );
    server.registerPrompt("test_input_required_result_prompt", { description: "asks first" }, async (context) => {
      const told = answer(context, "user_context", "context");
      if (typeof told === "string") return { messages: [{ role: "user", content: text(told) }] };
      return inputRequired({
        inputRequests: { user_context: askText("What context should the prompt use?", "context") },
      });
    });
  };
