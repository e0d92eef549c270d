import { blockBytes, type Field, fields } from "./tar-header.ts";

/** `removal` and `change` are between us and the guest only (native/guest/tar.h). */
const typeCodes = { file: "0", "hard-link": "1", link: "2", directory: "5", removal: "R", change: "C" } as const;

/** Names are bytes, one to a character (latin1). */
export interface TarMember {
  type: keyof typeof typeCodes;
  path: string;
  target?: string;
  mode?: number;
  size?: number;
  mtimeNs?: bigint;
}

/** Sizes and times past it stand in a pax header. */
const octalMost = 0o77777777777n;

/** What ends an archive. */
export const tarEnd = Buffer.alloc(2 * blockBytes);

/** What fills the last block of a file. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);
}

/** What stands before a member's bytes: its header, after a pax header where a field does not hold what it should. */
export function tarHeader(member: TarMember): Buffer {
  const name = member.type === "directory" ? `${member.path}/` : member.path;
  const { target = "", size = 0, mtimeNs = 0n } = member;
  const seconds = mtimeNs / 1_000_000_000n;
  const records: [string, string][] = [];
  if (name.length > fields.name[1]) records.push(["path", name]);
  if (target.length > fields.target[1]) records.push(["linkpath", target]);
  if (BigInt(size) > octalMost) records.push(["size", String(size)]);
  if (mtimeNs < 0n || seconds > octalMost || mtimeNs % 1_000_000_000n !== 0n) records.push(["mtime", decimal(mtimeNs)]);
  const header = block(typeCodes[member.type], {
    name,
    target,
    mode: member.mode ?? 0,
    size: records.some(([key]) => key === "size") ? 0n : BigInt(size),
    mtime: seconds < 0n || seconds > octalMost ? 0n : seconds,
  });
  if (records.length === 0) return header;
  const body = Buffer.from(records.map(([key, value]) => record(key, value)).join(""), "latin1");
  const extra = { name: "././@PaxHeader", target: "", mode: 0o644, size: BigInt(body.length), mtime: 0n };
  return Buffer.concat([block("x", extra), body, tarPadding(body.length), header]);
}

interface Fields {
  name: string;
  target: string;
  mode: number;
  size: bigint;
  mtime: bigint;
}

function block(type: string, values: Fields): Buffer {
  const header = Buffer.alloc(blockBytes);
  const put = ([at, size]: Field, text: string) => header.write(text.slice(0, size), at, "latin1");
  const octal = (field: Field, value: bigint) => put(field, `${value.toString(8).padStart(field[1] - 1, "0")}\0`);
  put(fields.name, values.name);
  octal(fields.mode, BigInt(values.mode));
  octal(fields.uid, 0n);
  octal(fields.gid, 0n);
  octal(fields.size, values.size);
  octal(fields.mtime, values.mtime);
  put(fields.type, type);
  put(fields.target, values.target);
  put(fields.magic, "ustar\0");
  put(fields.version, "00");
  put(fields.checksum, " ".repeat(8));
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(fields.checksum, `${sum.toString(8).padStart(6, "0")}\0 `);
  return header;
}

/** `length key=value newline`, where the length counts its own digits. */
function record(key: string, value: string): string {
  const rest = key.length + value.length + 3;
  let length = rest + 1;
  while (rest + String(length).length !== length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function decimal(ns: bigint): string {
  const whole = ns < 0n ? -ns : ns;
  const fraction = String(whole % 1_000_000_000n).padStart(9, "0");
  return `${ns < 0n ? "-" : ""}${whole / 1_000_000_000n}.${fraction}`;
}
