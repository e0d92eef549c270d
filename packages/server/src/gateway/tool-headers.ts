/** `Mcp-Param-*`: arguments that a tool's schema mirrors in fields of the request (2026-07-28). */
import { decodeField, encodeField } from "./http-speech.ts";
import { gatewayLimits } from "./limits.ts";
import { isRecord, type Params, type Request } from "./message.ts";
import { RpcRefusal, rpcCodes } from "./rpc-error.ts";

interface Mirrored {
  /** Names of properties, from the top of the arguments. */
  path: readonly string[];
  field: string;
}

const isToken = (text: unknown): text is string =>
  typeof text === "string" && /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/.test(text);

/** Reads which properties of a schema are mirrored, those below `properties` alone. */
function mirroredIn(schema: unknown, path: readonly string[] = []): Mirrored[] {
  if (!isRecord(schema) || path.length > gatewayLimits.depth) return [];
  const own = isToken(schema["x-mcp-header"]) ? [{ path, field: `Mcp-Param-${schema["x-mcp-header"]}` }] : [];
  if (!isRecord(schema.properties)) return own;
  return [...own, ...Object.entries(schema.properties).flatMap(([name, part]) => mirroredIn(part, [...path, name]))];
}

function valueAt(given: unknown, path: readonly string[]): string | undefined {
  let value = given;
  for (const name of path) value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  return undefined;
}

/** Fields for the tools of one instance, made of the arguments that are sent and of nothing else (S134). */
export class ToolHeaders {
  readonly #tools = new Map<string, readonly Mirrored[]>();

  knows(tool: unknown): boolean {
    return this.#tools.has(String(tool));
  }

  /** Learns from the result of `tools/list`. */
  learn({ tools }: Params): void {
    if (!Array.isArray(tools)) return;
    for (const tool of tools.slice(0, gatewayLimits.tools)) {
      if (!isRecord(tool) || typeof tool.name !== "string") continue;
      if (this.#tools.size < gatewayLimits.tools || this.#tools.has(tool.name))
        this.#tools.set(tool.name, mirroredIn(tool.inputSchema));
    }
  }

  fieldsOf(message: Request): string[] {
    return this.#mirrored(message).flatMap(({ field, value }) =>
      value === undefined ? [] : [field, encodeField(value)],
    );
  }

  /** Refuses a call whose fields say something else than its arguments. */
  check(message: Request, fields: Headers): void {
    for (const { field, value } of this.#mirrored(message)) {
      const given = fields.get(field);
      if (value === undefined || (given !== null && decodeField(given) === value)) continue;
      throw new RpcRefusal(rpcCodes.headerMismatch, `the field ${field} does not say what the arguments say`);
    }
  }

  #mirrored({ method, params }: Request): (Mirrored & { value: string | undefined })[] {
    if (method !== "tools/call") return [];
    const found = this.#tools.get(String(params?.name)) ?? [];
    return found.map((one) => ({ ...one, value: valueAt(params?.arguments, one.path) }));
  }
}
