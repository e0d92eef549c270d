/** RFC 1035, as much as a resolver needs that asks nobody: one question in, at most one address out. */
import { gateLimits } from "./gate-limits.ts";

export const dnsTypes = { A: 1, AAAA: 28, ANY: 255 } as const;

export const dnsCodes = { ok: 0, malformed: 1, failed: 2, noSuchName: 3, notImplemented: 4, refused: 5 } as const;
export type DnsCode = (typeof dnsCodes)[keyof typeof dnsCodes];

export interface DnsQuery {
  id: number;
  recursion: boolean;
  /** Lower case, without a last dot; empty for the root. */
  name: string;
  type: number;
  /** The question as it was asked: resolvers compare it byte by byte. */
  question: Buffer;
}

/** What is no question but can be answered with a code. */
export interface DnsMistake {
  id: number;
  code: DnsCode;
}

const headerBytes = 12;
const inClass = 1;

/** Undefined for what gets no answer at all: too short, or an answer itself. */
export function parseQuery(message: Buffer): DnsQuery | DnsMistake | undefined {
  if (message.length < headerBytes || message.length > gateLimits.dnsMessageBytes) return undefined;
  const id = message.readUInt16BE(0);
  const flags = message.readUInt16BE(2);
  if ((flags & 0x8000) !== 0) return undefined;
  if (((flags >> 11) & 15) !== 0) return { id, code: dnsCodes.notImplemented };
  if (message.readUInt16BE(4) !== 1 || message.readUInt16BE(6) !== 0) return { id, code: dnsCodes.malformed };
  const read = readName(message, headerBytes);
  if (read === undefined || read.end + 4 > message.length) return { id, code: dnsCodes.malformed };
  if (message.readUInt16BE(read.end + 2) !== inClass) return { id, code: dnsCodes.notImplemented };
  return {
    id,
    recursion: (flags & 0x0100) !== 0,
    name: read.name,
    type: message.readUInt16BE(read.end),
    question: message.subarray(headerBytes, read.end + 4),
  };
}

/** Without pointers, which a question has no use for, and only what a host's name is made of. */
function readName(message: Buffer, start: number): { name: string; end: number } | undefined {
  const labels: string[] = [];
  let at = start;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > 63 || at + 1 + length > message.length) return undefined;
    if (length === 0) break;
    const label = message.toString("latin1", at + 1, at + 1 + length).toLowerCase();
    if (!/^[a-z0-9_-]+$/.test(label)) return undefined;
    labels.push(label);
    at += 1 + length;
  }
  const name = labels.join(".");
  return name.length > gateLimits.nameBytes ? undefined : { name, end: at + 1 };
}

function header(id: number, recursion: boolean, code: DnsCode, questions: number, answers: number): Buffer {
  const bytes = Buffer.alloc(headerBytes);
  bytes.writeUInt16BE(id, 0);
  // An answer, authoritative, and recursion is there for whoever asked for it.
  bytes.writeUInt16BE(0x8480 | (recursion ? 0x0100 : 0) | code, 2);
  bytes.writeUInt16BE(questions, 4);
  bytes.writeUInt16BE(answers, 6);
  return bytes;
}

export function formatMistake({ id, code }: DnsMistake): Buffer {
  return header(id, false, code, 0, 0);
}

/** Without an address and with code ok: the name is there and has no such record. */
export function formatResponse(query: DnsQuery, code: DnsCode, address?: Buffer): Buffer {
  const { id, recursion, question, type } = query;
  if (address === undefined) return Buffer.concat([header(id, recursion, code, 1, 0), question]);
  const record = Buffer.alloc(12);
  record.writeUInt16BE(0xc000 | headerBytes, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(inClass, 4);
  record.writeUInt32BE(gateLimits.dnsTtlSeconds, 6);
  record.writeUInt16BE(address.length, 10);
  return Buffer.concat([header(id, recursion, code, 1, 1), question, record, address]);
}
