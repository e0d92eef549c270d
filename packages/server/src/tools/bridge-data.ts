import { z } from "zod";
import { contextLanguages } from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import { getVariable, type SandboxVariable, setVariable, variableName } from "./bridge.ts";
import { contextLanguageOf, sessionId, sessionOf, where, whereOf } from "./session.ts";
import { defineTool, type ToolCall } from "./tool.ts";

const name = z.string().regex(variableName, "a name of letters, digits and _, which is a variable in both languages");

export const bridgeData = defineTool({
  name: "bridge_data",
  title: "Pass data between sessions",
  sets: ["sessions", "data"],
  scope: "use",
  description: [
    "Passes JSON between interpreters: Python and Node.js, of one session or of two.",
    "With value: the value becomes the variable key of the session. With from_session or from_language: that interpreter's variable (from_key, or key) is copied into it. With neither: the variable is read, and comes back as value.",
    "Use it instead of printing data and pasting it into code. At most 1 MiB of JSON; larger things go through files.",
    "Refused when the variable is not there or no JSON (a data frame, a function): convert it in execute_code first.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    session_id: sessionId,
    key: name.describe("the variable's name"),
    value: z.unknown().optional().describe("any JSON"),
    language: z
      .enum(contextLanguages)
      .optional()
      .describe("of the session's interpreter; the session's own unless given"),
    from_session: sessionId.describe("where the variable comes from; session_id's own unless given"),
    from_language: z.enum(contextLanguages).optional(),
    from_key: name.optional(),
  }),
  data: ["value"],
  output: z.object({
    value: z.unknown().optional().describe("when it was read"),
    key: z.string(),
    language: z.enum(contextLanguages),
    action: z.enum(["set", "copied", "read"]),
    size_bytes: z.number().describe("of the JSON"),
    ...where,
  }),
  run: async (call, input) => {
    const { key, value, from_session, from_language, from_key } = input;
    const copies = from_session !== undefined || from_language !== undefined || from_key !== undefined;
    if (copies && value !== undefined)
      throw new AppError("invalid", "a value is given, or comes from another variable: not both");
    const target = await placeOf(call, input.session_id, input.language, key);
    const about = { ...whereOf(target.record), key, language: target.language };
    if (value !== undefined)
      return { structured: { ...about, action: "set" as const, size_bytes: await setVariable(call, target, value) } };
    const source = copies
      ? await placeOf(call, from_session ?? input.session_id, from_language, from_key ?? key)
      : target;
    const found = await getVariable(call, source);
    if (copies)
      return {
        structured: { ...about, action: "copied" as const, size_bytes: await setVariable(call, target, found) },
      };
    const size_bytes = Buffer.byteLength(JSON.stringify(found));
    return { structured: { ...about, action: "read" as const, size_bytes, value: found } };
  },
});

async function placeOf(
  call: ToolCall,
  session: string | undefined,
  language: SandboxVariable["language"] | undefined,
  name: string,
): Promise<SandboxVariable> {
  const record = await sessionOf(call, session);
  return { record, language: language ?? contextLanguageOf(record), name };
}
