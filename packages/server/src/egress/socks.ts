/** SOCKS5 (RFC 1928) without its methods of authentication: who can reach it is in the sandbox. Only CONNECT. */
import type { Destination } from "../core/egress.ts";

const socksReplies = {
  ok: 0,
  failed: 1,
  notAllowed: 2,
  hostUnreachable: 4,
  connectionRefused: 5,
  unknownCommand: 7,
  unknownAddress: 8,
} as const;
export type SocksReply = keyof typeof socksReplies;

export type SocksStep<T> = { state: "more" } | { state: "read"; value: T; bytes: number } | { state: "refused" };

const more = { state: "more" } as const;
const refused = { state: "refused" } as const;

/** Whether the client can do without authentication. */
export function readGreeting(bytes: Buffer): SocksStep<boolean> {
  const [version, count] = bytes;
  if (version !== undefined && version !== 5) return refused;
  if (count === undefined || bytes.length < 2 + count) return more;
  return { state: "read", value: bytes.subarray(2, 2 + count).includes(0), bytes: 2 + count };
}

export const greetingReply = (accepted: boolean): Buffer => Buffer.from([5, accepted ? 0 : 0xff]);

/** Where to; a reply in place of a destination says what cannot be done. */
export function readRequest(bytes: Buffer): SocksStep<Destination | SocksReply> {
  const [version, command, reserved, type, length] = bytes;
  if ((version !== undefined && version !== 5) || (reserved !== undefined && reserved !== 0)) return refused;
  if (command === undefined || type === undefined || length === undefined) return more;
  const size = { 1: 4, 3: 1 + length, 4: 16 }[type];
  if (size === undefined) return { state: "read", value: "unknownAddress", bytes: bytes.length };
  const end = 4 + size + 2;
  if (bytes.length < end) return more;
  if (command !== 1) return { state: "read", value: "unknownCommand", bytes: end };
  const host = hostOf(type, bytes.subarray(4, 4 + size));
  const port = bytes.readUInt16BE(end - 2);
  return { state: "read", value: host === undefined || port === 0 ? "unknownAddress" : { host, port }, bytes: end };
}

function hostOf(type: number, field: Buffer): string | undefined {
  if (type === 1) return field.join(".");
  if (type === 4) return field.toString("hex").replace(/(....)(?=.)/g, "$1:");
  const name = field.toString("latin1", 1);
  return /^[\x21-\x7e]+$/.test(name) ? name : undefined;
}

export function requestReply(reply: SocksReply): Buffer {
  return Buffer.from([5, socksReplies[reply], 0, 1, 0, 0, 0, 0, 0, 0]);
}
