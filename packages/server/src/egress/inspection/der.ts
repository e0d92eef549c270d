/** As much of DER (X.690) as a certificate takes. */
export type Der = Buffer;

function length(size: number): number[] {
  if (size < 0x80) return [size];
  const bytes: number[] = [];
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

function element(tag: number, ...parts: Uint8Array[]): Der {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...length(body.length)]), body]);
}

export const sequence = (...parts: Der[]): Der => element(0x30, ...parts);
export const set = (...parts: Der[]): Der => element(0x31, ...parts);
export const octets = (bytes: Uint8Array): Der => element(0x04, bytes);
export const boolean = (value: boolean): Der => element(0x01, Buffer.from([value ? 0xff : 0]));
export const utf8 = (text: string): Der => element(0x0c, Buffer.from(text));
/** With no bit left over. */
export const bits = (bytes: Uint8Array): Der => element(0x03, Buffer.from([0]), bytes);
/** Flags, the first one first. */
export const flags = (byte: number, unused: number): Der => element(0x03, Buffer.from([unused, byte]));
/** Context-specific: [n], around others or in place of a plain one's tag. */
export const explicit = (number: number, ...parts: Der[]): Der => element(0xa0 | number, ...parts);
export const implicit = (number: number, bytes: Uint8Array): Der => element(0x80 | number, bytes);

/** Not negative. */
export function integer(bytes: Uint8Array): Der {
  const first = bytes[0] ?? 0;
  return element(0x02, first >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

export function oid(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [40 * first + second];
  for (const part of rest) {
    const digits = [part % 128];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128))
      digits.unshift(0x80 | (left % 128));
    bytes.push(...digits);
  }
  return element(0x06, Buffer.from(bytes));
}

/** UTCTime until 2049, as RFC 5280 has it. */
export function time(atMs: number): Der {
  const text = new Date(atMs).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return Number(text.slice(0, 4)) < 2050 ? element(0x17, Buffer.from(text.slice(2))) : element(0x18, Buffer.from(text));
}
