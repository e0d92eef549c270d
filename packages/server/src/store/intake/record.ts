import { crc32 } from "node:zlib";

/** Where in a record what lies: a checksum of the rest, the length of its text, whose it is, and which one. */
const lengthAt = 4;
const saltAt = 8;
const numberAt = 12;
const textAt = 18;

export interface IntakeRecord {
  number: number;
  text: string;
}

/** At most, of so many characters. */
export const recordBytes = (characters: number) => textAt + 3 * characters;

/** Its size, in a buffer that has room for it there. */
export function encodeRecord(target: Buffer, offset: number, salt: number, { number, text }: IntakeRecord): number {
  const length = target.write(text, offset + textAt);
  target.writeUInt32LE(length, offset + lengthAt);
  target.writeUInt32LE(salt, offset + saltAt);
  target.writeUIntLE(number, offset + numberAt, 6);
  const size = textAt + length;
  target.writeUInt32LE(crc32(target.subarray(offset + lengthAt, offset + size)), offset);
  return size;
}

/** How long the record that may start here says it is. */
export function sizeOf(source: Buffer): number {
  return source.length < textAt ? textAt : textAt + source.readUInt32LE(lengthAt);
}

/** Undefined where none of this salt starts: another is drawn where records of an earlier process may lie there. */
export function decodeRecord(source: Buffer, salt: number): (IntakeRecord & { size: number }) | undefined {
  const size = sizeOf(source);
  if (source.length < size || size === textAt || source.readUInt32LE(saltAt) !== salt) return undefined;
  if (source.readUInt32LE(0) !== crc32(source.subarray(lengthAt, size))) return undefined;
  return { number: source.readUIntLE(numberAt, 6), text: source.toString("utf8", textAt, size), size };
}
