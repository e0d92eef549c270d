/** The blocks of a tar archive: POSIX.1-2001 (pax) and ustar; of GNU's own only long names. */
export const blockBytes = 512;

/** Where a header's fields stand: offset and size. */
export const fields = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  target: [157, 100],
  magic: [257, 6],
  version: [263, 2],
  prefix: [345, 155],
} as const;

export type Field = (typeof fields)[keyof typeof fields];

const code = (letter: string) => letter.charCodeAt(0);

export const tarTypes: Readonly<
  Record<number, "file" | "old-file" | "directory" | "link" | "hard-link" | "device" | "FIFO" | "unreadable">
> = {
  0: "old-file",
  [code("0")]: "file",
  [code("1")]: "hard-link",
  [code("2")]: "link",
  [code("3")]: "device",
  [code("4")]: "device",
  [code("5")]: "directory",
  [code("6")]: "FIFO",
  [code("7")]: "file",
  /** Between the guest and us only (native/guest/tar.h). */
  [code("U")]: "unreadable",
};

export const extraTypes = { pax: code("x"), global: code("g"), longName: code("L"), longTarget: code("K") } as const;

export function fieldBytes(header: Buffer, [at, size]: Field): Buffer {
  return header.subarray(at, at + size);
}

/** Octal digits, or base 256 when the first bit is set. Negative numbers and those past 63 bits are none. */
export function headerNumber(field: Buffer): bigint | undefined {
  const first = field[0] ?? 0;
  if (first & 0x80) {
    const value = first === 0x80 ? BigInt(`0x${field.toString("hex", 1)}`) : -1n;
    return value < 0n || value >> 63n ? undefined : value;
  }
  const digits = /^ *([0-7]*)[ \0]*$/.exec(field.toString("latin1"))?.[1];
  return digits === undefined ? undefined : BigInt(digits === "" ? 0 : `0o${digits}`);
}

/** The sum over the header with spaces in place of the sum itself. Old programs summed signed bytes. */
export function checksumHolds(header: Buffer): boolean {
  const said = headerNumber(fieldBytes(header, fields.checksum));
  const [at, size] = fields.checksum;
  let sum = 0;
  let asSigned = 0;
  for (let i = 0; i < blockBytes; i++) {
    const byte = i >= at && i < at + size ? 0x20 : (header[i] ?? 0);
    sum += byte;
    asSigned += (byte << 24) >> 24;
  }
  return said === BigInt(sum) || said === BigInt(asSigned);
}
