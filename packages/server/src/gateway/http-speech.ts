/** Fields of requests to hosted servers over HTTP. They are made of the message that is sent, and of nothing that a client's request had (S134). */
import { PROTOCOL_VERSION_META_KEY } from "@modelcontextprotocol/server";
import type { Speech } from "./http-line.ts";
import { isAnswer, type Message, metaOf, type Request } from "./message.ts";
import { named } from "./methods.ts";

/** Revisions with sessions. */
export class LegacySpeech implements Speech {
  #fields: string[] = [];

  fields(): readonly string[] {
    return this.#fields;
  }

  opened(headers: Readonly<Record<string, string | string[] | undefined>>): void {
    const id = headers["mcp-session-id"];
    if (typeof id === "string" && /^[\x21-\x7e]{1,1024}$/.test(id)) this.#fields.push("Mcp-Session-Id", id);
  }

  /** The revision that server and client have agreed on. */
  speak(version: string): void {
    this.#fields.push("MCP-Protocol-Version", version);
  }
}

/** The revision without sessions: each request says what it is. `paramsOf`: fields that a tool's schema mirrors arguments in. */
export class ModernSpeech implements Speech {
  readonly #paramsOf: (message: Request) => readonly string[];

  constructor(paramsOf: (message: Request) => readonly string[]) {
    this.#paramsOf = paramsOf;
  }

  fields(message: Message | undefined): readonly string[] {
    if (message === undefined || isAnswer(message)) return [];
    const version = metaOf(message)[PROTOCOL_VERSION_META_KEY];
    const name = named(message);
    return [
      ...(typeof version === "string" ? ["MCP-Protocol-Version", version] : []),
      ...["Mcp-Method", message.method],
      ...(name === undefined ? [] : ["Mcp-Name", encodeField(name)]),
      ...("id" in message ? this.#paramsOf(message) : []),
    ];
  }
}

/** A text as the value of a field: in base64 where a field could not hold it, or would be read as such. */
export function encodeField(value: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith("=?base64?");
  return isPlain ? value : `=?base64?${Buffer.from(value).toString("base64")}?=`;
}

/** Undefined for base64 that is none. */
export function decodeField(value: string): string | undefined {
  const found = /^=\?base64\?(.*)\?=$/.exec(value);
  if (found === null) return value;
  const bytes = Buffer.from(found[1] ?? "", "base64");
  if (bytes.toString("base64") !== found[1]) return undefined;
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? text : undefined;
}
