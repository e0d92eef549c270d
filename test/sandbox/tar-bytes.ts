/** Archives made byte by byte, so that they can be wrong in any one place. */
export interface Entry {
  name: string | Buffer;
  type?: string;
  body?: string | Buffer;
  mode?: number;
  target?: string;
  prefix?: string;
  magic?: string;
  /** The field as it stands, in place of what the body says. */
  size?: number | Buffer;
  checksum?: number;
}

const blockBytes = 512;

function octal(into: Buffer, at: number, size: number, value: number): void {
  into.write(`${value.toString(8).padStart(size - 1, "0")}\0`, at, "latin1");
}

export function padded(body: Buffer): Buffer {
  return Buffer.concat([body, Buffer.alloc((blockBytes - (body.length % blockBytes)) % blockBytes)]);
}

export function entry(fields: Entry): Buffer {
  const header = Buffer.alloc(blockBytes);
  const body = Buffer.from(fields.body ?? "");
  Buffer.from(fields.name).copy(header, 0, 0, 100);
  octal(header, 100, 8, fields.mode ?? 0o644);
  octal(header, 108, 8, 0);
  octal(header, 116, 8, 0);
  if (Buffer.isBuffer(fields.size)) fields.size.copy(header, 124);
  else octal(header, 124, 12, fields.size ?? body.length);
  octal(header, 136, 12, 1_700_000_000);
  header.write(fields.type ?? "0", 156, "latin1");
  header.write(fields.target ?? "", 157, 100);
  header.write(fields.magic ?? "ustar\x0000", 257, "latin1");
  header.write(fields.prefix ?? "", 345, 155);
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${(fields.checksum ?? sum).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return Buffer.concat([header, padded(body)]);
}

/** A pax header: `length key=value newline`. */
export function pax(records: Record<string, string>, type = "x"): Buffer {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`);
    let length = rest;
    while (String(length).length + rest !== length) length = String(length).length + rest;
    return `${length} ${key}=${value}\n`;
  });
  return entry({ name: "pax", type, body: lines.join("") });
}

export const end = Buffer.alloc(2 * blockBytes);

export function archive(...parts: (Entry | Buffer)[]): Buffer {
  return Buffer.concat([...parts.map((part) => (Buffer.isBuffer(part) ? part : entry(part))), end]);
}
