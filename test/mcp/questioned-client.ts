import type { Client } from "@modelcontextprotocol/client";
import type { Role } from "../../packages/server/src/core/scope.ts";
import type { TestServer } from "../http/server.ts";
import { connectClient, type Era } from "./client.ts";

/** A question as a user sees it. */
export interface UserQuestion {
  message: string;
  options: string[];
}

export interface QuestionedClient extends AsyncDisposable {
  client: Client;
  asked: UserQuestion[];
}

/** A client whose user answers each question as told. */
export async function connectQuestionedClient(
  server: TestServer,
  era: Era,
  role: Role,
  answer: (asked: UserQuestion) => object | Promise<object>,
): Promise<QuestionedClient> {
  const client = await connectClient(server, era, { role, capabilities: { elicitation: { form: {} } } });
  const asked: UserQuestion[] = [];
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    const { properties = {} } = "requestedSchema" in params ? params.requestedSchema : {};
    const { oneOf = [] } = (properties.answer ?? {}) as { oneOf?: { const: string }[] };
    const question = { message: params.message, options: oneOf.map((option) => option.const) };
    asked.push(question);
    return (await answer(question)) as never;
  });
  return { client, asked, [Symbol.asyncDispose]: () => client.close() };
}

export const accept = (answer: string, more: object = {}) => ({ action: "accept", content: { answer, ...more } });
