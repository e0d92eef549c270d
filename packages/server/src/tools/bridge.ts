import { sharedContext, toCommand } from "../core/command.ts";
import type { ContextLanguage } from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { contextLimits } from "../core/limits.ts";
import { parseJson } from "../core/parse-json.ts";
import type { SandboxRecord } from "../core/sandbox-record.ts";
import { isDeeper } from "./json-depth.ts";
import { sessionLimits } from "./session-limits.ts";
import type { ToolCall } from "./tool.ts";

/** Names that are variables in both languages; what begins with two underscores is an interpreter's own. */
export const variableName = /^(?:[A-Za-z][A-Za-z0-9_]{0,63}|_(?:[A-Za-z0-9][A-Za-z0-9_]{0,62})?)$/;

// The text of a JSON string is one of Python and JavaScript too.
const setters: Record<ContextLanguage, (name: string, text: string) => string> = {
  python: (name, text) => `${name} = __import__("json").loads(${JSON.stringify(text)})`,
  node: (name, text) => `${name} = JSON.parse(${JSON.stringify(text)}); undefined`,
};
const getters: Record<ContextLanguage, (name: string) => string> = {
  python: (name) => `__import__("json").dumps(${name}, allow_nan=False)`,
  node: (name) => `JSON.stringify(${name})`,
};

export interface SandboxVariable {
  record: SandboxRecord;
  language: ContextLanguage;
  name: string;
}

export async function setVariable(
  call: ToolCall,
  { record, language, name }: SandboxVariable,
  value: unknown,
): Promise<number> {
  const text = toText(value);
  await runQuietly(call, record, language, setters[language](name, text));
  return Buffer.byteLength(text);
}

/** A variable as JSON. What its interpreter says is taken as anybody's JSON. */
export async function getVariable(call: ToolCall, { record, language, name }: SandboxVariable): Promise<unknown> {
  const { results } = await runQuietly(call, record, language, getters[language](name));
  const text = results.at(-1)?.json;
  if (typeof text !== "string")
    throw new AppError("invalid", `'${name}' is not JSON`, {
      hint: "use only objects, lists, strings, numbers, booleans and null",
    });
  if (Buffer.byteLength(text) > sessionLimits.bridgeBytes) throw tooLarge();
  return parse(name, text);
}

function toText(value: unknown): string {
  if (isDeeper(value, contextLimits.jsonDepth)) throw tooDeep();
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > sessionLimits.bridgeBytes) throw tooLarge();
  return text;
}

function parse(name: string, text: string): unknown {
  try {
    return parseJson(text, { ...jsonLimits.data, depth: contextLimits.jsonDepth });
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("invalid", `'${name}' is not JSON`);
  }
}

function tooDeep(): AppError {
  return new AppError("invalid", `the value is nested too deeply (limit: ${contextLimits.jsonDepth} levels)`);
}

function tooLarge(): AppError {
  return new AppError("too_large", `the value is too large (limit: ${sessionLimits.bridgeBytes} bytes of JSON)`, {
    hint: "write it to a file and read it in the other session",
  });
}

async function runQuietly(call: ToolCall, { id }: SandboxRecord, language: ContextLanguage, code: string) {
  const { caller, parts, signal } = call;
  const limits = { timeoutMs: sessionLimits.bridgeMs };
  const command = toCommand({ what: { code, language, context: sharedContext }, limits });
  const done = await parts.fleet.run(caller, id, command, { signal }, (sandbox) => sandbox.runInContext({ signal }));
  if (done.error === undefined) return done;
  throw new AppError("invalid", `error in ${language}: ${done.error.name}: ${done.error.message}`, {
    hint: "inspect_state lists the variables",
  });
}
