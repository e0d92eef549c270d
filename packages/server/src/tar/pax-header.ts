import { sandboxLimits } from "../core/limits.ts";
import { refuseArchive } from "./archive-refusal.ts";
import { extraTypes } from "./tar-header.ts";

const attributePrefix = "SCHILY.xattr.";
const damaged = "an extended header is damaged";

/** What the extended headers before an entry say of it. */
export class PaxHeader {
  path: string | undefined;
  target: string | undefined;
  size: bigint | undefined;
  mtimeNs: bigint | undefined;
  /** Names alone: no attribute is kept. */
  readonly attributes: string[] = [];

  static isExtra(type: number): boolean {
    return Object.values(extraTypes).some((extra) => extra === type);
  }

  take(type: number, text: string): void {
    if (type === extraTypes.pax || type === extraTypes.global) return this.#records(text, type === extraTypes.global);
    const name = checkText(text.endsWith("\0") ? text.slice(0, -1) : text); // GNU counts the NUL
    if (type === extraTypes.longName) this.path = name;
    else this.target = name;
  }

  /** Records of `length key=value newline`. */
  #records(text: string, isGlobal: boolean): void {
    for (let at = 0; at < text.length; ) {
      const digits = /^\d{1,8}(?= )/.exec(text.slice(at, at + 9))?.[0];
      if (digits === undefined) throw refuseArchive(damaged);
      const length = Number(digits);
      const record = text.slice(at, at + length);
      const equals = record.indexOf("=");
      if (length < digits.length + 4 || record.length < length || !record.endsWith("\n") || equals <= digits.length + 1)
        throw refuseArchive(damaged);
      this.#record(record.slice(digits.length + 1, equals), record.slice(equals + 1, -1), isGlobal);
      at += length;
    }
  }

  #record(key: string, value: string, isGlobal: boolean): void {
    if (isGlobal && (key === "path" || key === "linkpath" || key === "size"))
      throw refuseArchive("one header names every entry");
    if (key === "path") this.path = checkText(value);
    else if (key === "linkpath") this.target = checkText(value);
    else if (key === "size") this.size = parseSize(value);
    else if (key === "mtime" && !isGlobal) this.mtimeNs = parseTime(value);
    else if (key.startsWith(attributePrefix)) this.attributes.push(key.slice(attributePrefix.length));
    else if (key.startsWith("GNU.sparse")) throw refuseArchive("it holds a sparse file, which is not supported");
  }
}

function checkText(value: string): string {
  if (value === "" || value.length >= sandboxLimits.pathBytes || value.includes("\0"))
    throw refuseArchive("an extended header holds a name that is none");
  return value;
}

function parseSize(value: string): bigint {
  const size = /^\d{1,19}$/.test(value) ? BigInt(value) : -1n;
  if (size < 0n || size >> 63n) throw refuseArchive("an extended header holds no valid size");
  return size;
}

/** Seconds, maybe with a sign and a fraction, of which nine digits count. */
function parseTime(value: string): bigint {
  const match = /^(-?)(\d{1,18})(?:\.(\d*))?$/.exec(value);
  if (match === null) throw refuseArchive("an extended header holds no valid time");
  const [, sign, seconds = "0", fraction = ""] = match;
  const ns = BigInt(seconds) * 1_000_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, "0"));
  return sign === "-" ? -ns : ns;
}
