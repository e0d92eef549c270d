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

const data = z.string().describe("text, whose characters are never cut in two, or base64 where that was asked for");

/** What a program writes, as it comes. */
export const output = [message("StdoutMessage", "stdout", { data }), message("StderrMessage", "stderr", { data })];

const failed = message("ErrorMessage", "error", problemFields, "what failed once the answer had begun; the last");

const heartbeat = message("HeartbeatMessage", "heartbeat", {}, "nothing has happened, and the stream goes on");

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
  sse: "One event. `data` is the message, on one line. A comment (`:`) comes every",
  ndjson: "One message. Each is a line; a heartbeat comes every",
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
          id: { type: "string", description: "of a message that has an `id`: Last-Event-ID continues after it" },
        },
      },
    },
    [mediaOf.ndjson]: { schema: { description: `${framing.ndjson} ${seconds}`, oneOf: [one, show(heartbeat)] } },
  };
}
