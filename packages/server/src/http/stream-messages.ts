import { z } from "zod";
import { problemFields } from "../schemas/problem.ts";
import { httpLimits } from "./limits.ts";
import { mediaOf } from "./live-stream.ts";

/** A message of a stream; several types may look alike. */
export function message(id: string, type: string | [string, ...string[]], fields: z.ZodRawShape, description?: string) {
  const types = typeof type === "string" ? z.literal(type) : z.enum(type);
  return z.object({ type: types, ...fields }).meta({ id, ...(description && { description }) });
}

type Message = ReturnType<typeof message>;

const data = z.string().describe("text (characters are never split), or base64 if the request selects it");

/** What a program writes, as it comes. */
export const output = [message("StdoutMessage", "stdout", { data }), message("StderrMessage", "stderr", { data })];

const failed = message("ErrorMessage", "error", problemFields, "error after the response began; the last message");

const heartbeat = message("HeartbeatMessage", "heartbeat", {}, "keeps the stream open while nothing happens");

const typesOf = ({ type }: Message["shape"]): string[] => [
  ...(type instanceof z.ZodLiteral ? type.values : type.options),
];

/** Any message of a stream: one of these, or an error as the last. */
export function anyOf(id: string, messages: readonly Message[]): z.ZodType {
  const all = [...messages, failed];
  const mapping = all.flatMap(({ shape, meta }) =>
    typesOf(shape).map((type) => [type, `#/components/schemas/${meta()?.id}`]),
  );
  const discriminator = { propertyName: "type", mapping: Object.fromEntries(mapping) };
  return z.discriminatedUnion("type", all as [Message, ...Message[]]).meta({ id, discriminator });
}

const framing = {
  sse: "One event; `data` is the message, on one line. A comment (`:`) is sent every",
  ndjson: "One message per line; a heartbeat is sent every",
};

/** Schema of a stream in the OpenAPI document: that of one event or line, as OpenAPI knows only whole bodies. */
export function streamContent(show: (schema: z.ZodType) => object, messages: z.ZodType): Record<string, object> {
  const seconds = `${httpLimits.heartbeatMs / 1000} s.`;
  const one = show(messages);
  return {
    [mediaOf.sse]: {
      schema: {
        description: `${framing.sse} ${seconds}`,
        type: "object",
        required: ["event", "data"],
        properties: {
          event: { type: "string", description: "the `type` of the message" },
          data: { type: "string", contentMediaType: "application/json", contentSchema: one },
          id: { type: "string", description: "id of the message, if it has one: Last-Event-ID continues after it" },
        },
      },
    },
    [mediaOf.ndjson]: { schema: { description: `${framing.ndjson} ${seconds}`, oneOf: [one, show(heartbeat)] } },
  };
}
