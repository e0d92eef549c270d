/** Puts values in the place of what stands for them in a sandbox, in requests to the hosts they are bound to (NET-12, S56). */
import { type HeaderPlaceholder, type HeaderSecrets, placeholderPattern } from "../../core/secret.ts";

export interface OutgoingRequest {
  path: string;
  /** Names and values in turn. */
  fields: readonly string[];
  isInspected: boolean;
}

export interface Filled {
  objection?: undefined;
  fields: readonly string[];
  /** Takes the values out of an answer's fields, whose server may have sent them back. */
  mask: (fields: readonly string[]) => string[];
  /** Looks for the values in an answer's body, before the sandbox has it; undefined where none went out. */
  look?: (piece: Buffer) => void;
}

/** Hears of a value that a host sends back: returns what looks at the pieces of an answer. */
export type Notice = (secret: string, value: Buffer, host: string) => (piece: Buffer) => void;

const every = new RegExp(placeholderPattern, "g");
const compressing = new Set(["accept-encoding", "sec-websocket-extensions"]);
const basic = /^(basic +)([a-z0-9+/]+=*)$/i;

export class Credentials {
  readonly #sandboxId: string;
  readonly #secrets: HeaderSecrets | undefined;
  readonly #notice: Notice;

  constructor(sandboxId: string, secrets: HeaderSecrets | undefined, notice: Notice) {
    this.#sandboxId = sandboxId;
    this.#secrets = secrets;
    this.#notice = notice;
  }

  async fill(host: string, { path, fields, isInspected }: OutgoingRequest): Promise<Filled | { objection: string }> {
    const inFields = fields.some((text) => find(text).length > 0);
    const inPath = find(path).length > 0;
    if (this.#secrets === undefined || !(inFields || inPath)) return { fields, mask: (answer) => [...answer] };
    if (inPath) return { objection: "a placeholder of a secret is in the path, which no value goes into" };
    if (!isInspected) return { objection: "a secret goes out only where the rule has TLS looked into" };
    const filled: string[] = [];
    const shown = new Map<string, string>();
    const looks: ((piece: Buffer) => void)[] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const [name = "", text = ""] = [fields[i], fields[i + 1]];
      let put = text;
      for (const placeholder of find(text)) {
        const read = await this.#read(host, name, placeholder);
        if (read.objection !== undefined) return read;
        put = replace(put, placeholder, read);
        shown.set(read.value, placeholder);
        looks.push(this.#notice(read.name, Buffer.from(read.value, "latin1"), host));
      }
      const [, , token] = basic.exec(put) ?? [];
      if (put !== text && token !== undefined) shown.set(token, "…");
      filled.push(name, put);
    }
    const look = (piece: Buffer) => {
      for (const one of looks) one(piece);
    };
    return { fields: uncompressed(filled), mask: (answer) => answer.map((text) => mask(text, shown)), look };
  }

  async #read(host: string, field: string, placeholder: string): Promise<Read> {
    const bound = this.#secrets?.placeholders(this.#sandboxId).find((one) => one.placeholder === placeholder);
    if (bound === undefined)
      return { objection: "it carries the placeholder of a secret that this sandbox does not have" };
    const objection = object(bound, host, field);
    if (objection !== undefined) return { objection };
    const bytes = await this.#secrets?.reveal(this.#sandboxId, placeholder, host);
    const text = bytes?.toString("latin1").replace(/[\r\n]+$/, "");
    bytes?.fill(0);
    if (text === undefined || text === "") return { objection: `the secret ${bound.name} is no longer there` };
    // What an HTTP field cannot hold would end it.
    if (/[^\t\x20-\x7e\x80-\xff]/.test(text))
      return { objection: `the secret ${bound.name} does not fit into a field` };
    return { name: bound.name, value: text, format: bound.format };
  }
}

type Read = { name: string; value: string; format: string; objection?: undefined } | { objection: string };

function object(bound: HeaderPlaceholder, host: string, field: string): string | undefined {
  if (!bound.hosts.includes(host)) return `the secret ${bound.name} is not bound to ${host}`;
  if (field.toLowerCase() !== bound.header.toLowerCase())
    return `the secret ${bound.name} goes into the field ${bound.header}, not into ${field}`;
  return undefined;
}

/** Programs that know a name and a password send both in base64. */
function decode(text: string): { scheme: string; pair: string } | undefined {
  const [, scheme = "", token] = basic.exec(text) ?? [];
  return token === undefined ? undefined : { scheme, pair: Buffer.from(token, "base64").toString("latin1") };
}

function find(text: string): string[] {
  return [...new Set([text, decode(text)?.pair ?? ""].flatMap((shape) => shape.match(every) ?? []))];
}

/** A placeholder alone becomes all that the field should be. */
function replace(text: string, placeholder: string, { value, format }: { value: string; format: string }): string {
  if (text.trim() === placeholder) return format.split("{}").join(value);
  const pair = decode(text);
  if (pair === undefined) return text.split(placeholder).join(value);
  const filled = pair.pair.split(placeholder).join(value);
  return `${pair.scheme}${Buffer.from(filled, "latin1").toString("base64")}`;
}

/** Asks for an answer that can be looked through for the value. */
function uncompressed(fields: readonly string[]): string[] {
  const names = fields.map((_, index) => fields[index - (index % 2)]?.toLowerCase() ?? "");
  return [...fields.filter((_, index) => !compressing.has(names[index] ?? "")), "accept-encoding", "identity"];
}

function mask(text: string, shown: ReadonlyMap<string, string>): string {
  let masked = text;
  for (const [value, placeholder] of shown) masked = masked.replaceAll(value, placeholder);
  return masked;
}
