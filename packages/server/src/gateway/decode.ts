import { AppError, messageOf } from "../core/errors.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { strictJson } from "../core/strict-json.ts";
import { gatewayLimits } from "./limits.ts";
import { type Id, isRecord, type Message } from "./message.ts";

/** Bytes that are no message that may pass. `id`: of the answer that they were meant to be, where that can be seen. */
export class BadMessage extends AppError {
  readonly id: Id | undefined;

  constructor(why: string, id?: Id) {
    super("invalid", why);
    this.id = id;
  }
}

const bounds = { ...jsonLimits.data, depth: gatewayLimits.depth };

/** One message of a hosted server. Everything in it is hostile. */
export function decodeMessage(bytes: Buffer): Message {
  let value: unknown;
  try {
    value = strictJson(bytes, bounds);
  } catch (error) {
    throw new BadMessage(messageOf(error), answeredId(bytes));
  }
  return toMessage(value);
}

/** The message with the fields of JSON-RPC alone. */
export function toMessage(value: unknown): Message {
  if (Array.isArray(value)) throw new BadMessage("batches of messages are not supported");
  if (!isRecord(value) || value.jsonrpc !== "2.0") throw new BadMessage("not a message of JSON-RPC 2.0");
  const { id, method, params, result, error } = value;
  if (id !== undefined && !isId(id)) throw new BadMessage("the id of a message must be a string or a whole number");
  if (typeof method === "string") {
    if (params !== undefined && !isRecord(params)) throw new BadMessage("the params of a message must be an object");
    return { jsonrpc: "2.0", ...(id === undefined ? {} : { id }), method, ...(params === undefined ? {} : { params }) };
  }
  if (id === undefined || method !== undefined) throw new BadMessage("not a message of JSON-RPC 2.0");
  if (isRecord(result) && error === undefined) return { jsonrpc: "2.0", id, result };
  if (!isRecord(error) || result !== undefined) throw new BadMessage("an answer has either a result or an error", id);
  const { code, message, data } = error;
  if (!Number.isSafeInteger(code) || typeof message !== "string")
    throw new BadMessage("an error has a code and a message", id);
  return { jsonrpc: "2.0", id, error: { code: code as number, message, ...(data === undefined ? {} : { data }) } };
}

function isId(value: unknown): value is Id {
  return typeof value === "string" ? value.length <= gatewayLimits.idChars : Number.isSafeInteger(value);
}

/** Our own ids are short numbers, written by us: the first that such a text names is the one that its call waits for. */
function answeredId(bytes: Buffer): Id | undefined {
  const found = /"id"\s*:\s*(\d{1,15})\s*[,}]/.exec(bytes.toString("latin1", 0, 4_096));
  return found === null ? undefined : Number(found[1]);
}

export function tooLarge(): AppError {
  return new AppError("too_large", `the server sent a message of more than ${gatewayLimits.messageBytes} bytes`);
}
