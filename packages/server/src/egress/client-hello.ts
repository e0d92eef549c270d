/** The name in a TLS ClientHello (RFC 8446, 6066), read without ending the TLS. Every byte goes on as it came. */
import { gateLimits } from "./gate-limits.ts";

export type HelloResult =
  | { state: "more" }
  /** `ech`: what is inside may name another host; the outer name is the one that counts here. `protocols`: of ALPN. */
  | { state: "read"; serverName: string | null; ech: boolean; protocols: readonly string[] }
  | { state: "refused"; reason: string };

const handshakeRecord = 22;
const clientHello = 1;
const extensions = { serverName: 0, protocols: 16, encryptedHello: 0xfe0d } as const;

const more: HelloResult = { state: "more" };
const refused = (reason: string): HelloResult => ({ state: "refused", reason });

/** Looks at all that came so far. */
export function readClientHello(bytes: Buffer): HelloResult {
  const records: Buffer[] = [];
  let gathered = 0;
  for (let at = 0; at < bytes.length; ) {
    const version = bytes[at + 1];
    if (bytes[at] !== handshakeRecord || (version !== undefined && version !== 3))
      return refused("the connection does not begin with TLS");
    if (at + 5 > bytes.length) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > 16_384) return refused("a TLS record has an impossible length");
    const part = bytes.subarray(at + 5, at + 5 + length);
    if (records.push(part) > gateLimits.helloRecords) return refused("the ClientHello is in too many pieces");
    gathered += part.length;
    const message = messageLength(records, gathered);
    if (typeof message === "object") return message;
    if (message !== undefined && gathered >= message)
      return parse(new Reader(Buffer.concat(records).subarray(4, message)));
    at += 5 + length;
  }
  return bytes.length >= gateLimits.helloBytes ? refused("the ClientHello is too large") : more;
}

function messageLength(records: readonly Buffer[], gathered: number): number | undefined | HelloResult {
  if (gathered < 1) return undefined;
  const start = Buffer.concat(records.slice(0, 4), Math.min(gathered, 4));
  if (start[0] !== clientHello) return refused("the connection does not begin with a ClientHello");
  if (start.length < 4) return undefined;
  const length = 4 + start.readUIntBE(1, 3);
  return length > gateLimits.helloBytes ? refused("the ClientHello is too large") : length;
}

function parse(reader: Reader): HelloResult {
  reader.take(2 + 32);
  reader.vector(1);
  reader.vector(2);
  reader.vector(1);
  const list = reader.left === 0 ? new Reader(Buffer.alloc(0)) : new Reader(reader.vector(2));
  const seen = new Map<number, Buffer>();
  while (list.left > 0) {
    const type = list.number(2);
    if (seen.has(type)) return refused("the ClientHello has an extension twice");
    seen.set(type, list.vector(2));
  }
  const names = seen.get(extensions.serverName);
  const serverName = names === undefined ? null : readServerName(new Reader(names));
  const offered = seen.get(extensions.protocols);
  const protocols = offered === undefined ? [] : readProtocols(new Reader(offered));
  if (reader.broken || reader.left > 0 || list.broken || serverName === undefined || protocols === undefined)
    return refused("the ClientHello is malformed");
  return { state: "read", serverName, ech: seen.has(extensions.encryptedHello), protocols };
}

/** Exactly one host name, of letters, digits, hyphens, underscores and dots. */
function readServerName(extension: Reader): string | undefined {
  const list = new Reader(extension.vector(2));
  const type = list.number(1);
  const name = list.vector(2).toString("latin1").toLowerCase();
  const whole = extension.left === 0 && list.left === 0 && !extension.broken && !list.broken;
  return whole && type === 0 && /^[a-z0-9_.-]{1,253}$/.test(name) ? name : undefined;
}

/** RFC 7301: at least one name, none of them empty. */
function readProtocols(extension: Reader): string[] | undefined {
  const list = new Reader(extension.vector(2));
  const names: string[] = [];
  while (list.left > 0) names.push(list.vector(1).toString("latin1"));
  const whole = extension.left === 0 && !extension.broken && !list.broken;
  return whole && names.length > 0 && !names.includes("") ? names : undefined;
}

/** Past its end it is broken, and gives zeros. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  broken = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.broken ? 0 : this.#bytes.length - this.#at;
  }

  take(count: number): Buffer {
    if (count > this.left) this.broken = true;
    if (this.broken) return Buffer.alloc(0);
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  number(size: number): number {
    const bytes = this.take(size);
    return bytes.length === 0 ? 0 : bytes.readUIntBE(0, size);
  }

  vector(lengthSize: number): Buffer {
    return this.take(this.number(lengthSize));
  }
}
