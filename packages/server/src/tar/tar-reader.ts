import { sandboxLimits } from "../core/limits.ts";
import { tarLimits } from "../sandboxes/snapshot-limits.ts";
import { quoted, refuseArchive } from "./archive-refusal.ts";
import { ByteReader } from "./byte-reader.ts";
import { PaxHeader } from "./pax-header.ts";
import { blockBytes, checksumHolds, fieldBytes, fields, headerNumber, tarTypes } from "./tar-header.ts";

/** Names are bytes, one to a character (latin1). */
export interface TarEntry {
  type: "file" | "directory" | "link" | "hard-link" | "unreadable";
  /** Relative, without `.`, `..` or empty parts; empty for the folder itself. */
  path: string;
  depth: number;
  target: string;
  mode: number;
  size: number;
  mtimeNs: bigint;
  /** Only where such entries are let through: it was set-uid or set-gid, which its mode does not say. */
  isSetId: boolean;
  /** Names of its extended attributes, which are not kept. */
  attributes: readonly string[];
}

export interface TarRules {
  depth: number;
  /** Of a workspace that packed itself: link targets are whatever they are, and some things could not be read. */
  exact?: boolean;
  /** Of a layer of an image: link targets are whatever they are, and programs may be set-uid. */
  image?: boolean;
}

/** Why an archive is refused that is none, or in which a header was written over: its names may hold the value of a secret. */
export const wrongChecksum = "it is no tar archive, or damaged: a checksum is wrong";

/** The same rules as those of the guest's own reader (native/guest/untar.c), for archives that no sandbox has seen (S18). */
export class TarReader {
  readonly #bytes: ByteReader;
  readonly #rules: TarRules;
  #left = 0;
  #padding = 0;

  constructor(source: AsyncIterable<Uint8Array>, rules: TarRules) {
    this.#bytes = new ByteReader(source);
    this.#rules = rules;
  }

  /** The next entry; the bytes of the one before that were not read are left out. Undefined at the archive's end. */
  async next(): Promise<TarEntry | undefined> {
    while ((await this.read()) !== undefined);
    const extra = new PaxHeader();
    for (let extras = 0; ; extras++) {
      const header = await this.#whole(blockBytes);
      if (isZero(header)) {
        if (extras > 0) throw refuseArchive("an extended header has no entry");
        await this.#end();
        return undefined;
      }
      if (!checksumHolds(header)) throw refuseArchive(wrongChecksum);
      const size = headerNumber(fieldBytes(header, fields.size));
      if (size === undefined) throw refuseArchive("an entry's size is no number");
      const type = header[fields.type[0]] ?? 0;
      if (!PaxHeader.isExtra(type)) return this.#entry(header, size, type, extra);
      if (extras === 8) throw refuseArchive("an entry has too many extended headers");
      await this.#extra(extra, type, size);
    }
  }

  /** Bytes of the current entry; undefined at its end. */
  async read(): Promise<Buffer | undefined> {
    if (this.#left === 0) {
      if (this.#padding > 0) await this.#whole(this.#padding);
      this.#padding = 0;
      return undefined;
    }
    const piece = await this.#bytes.some(this.#left);
    if (piece === undefined) throw refuseArchive("it is cut short");
    this.#left -= piece.length;
    return piece;
  }

  close(): Promise<void> {
    return this.#bytes.close();
  }

  async #whole(size: number): Promise<Buffer> {
    const bytes = await this.#bytes.take(size);
    if (bytes.length < size) throw refuseArchive("it is cut short");
    return bytes;
  }

  /** Two blocks of zeros end an archive; only zeros may follow. */
  async #end(): Promise<void> {
    let block = await this.#whole(blockBytes);
    for (let blocks = 0; blocks < tarLimits.tailBlocks; blocks++) {
      if (!isZero(block)) throw refuseArchive("data follows its end");
      block = await this.#bytes.take(blockBytes);
      if (block.length === 0) return;
      if (block.length < blockBytes) throw refuseArchive("it is cut short");
    }
    throw refuseArchive("its end has no end");
  }

  async #extra(extra: PaxHeader, type: number, size: bigint): Promise<void> {
    if (size > BigInt(tarLimits.extraBytes))
      throw refuseArchive(`an extended header is past ${tarLimits.extraBytes} bytes`);
    if (size === 0n) throw refuseArchive("an extended header is empty");
    const text = await this.#whole(Math.ceil(Number(size) / blockBytes) * blockBytes);
    extra.take(type, text.subarray(0, Number(size)).toString("latin1"));
  }

  #entry(header: Buffer, headerSize: bigint, code: number, extra: PaxHeader): TarEntry {
    const mode = headerNumber(fieldBytes(header, fields.mode));
    const name = extra.path ?? headerName(header);
    const { path, depth } = checkName(name, this.#rules.depth);
    const target = extra.target ?? text(fieldBytes(header, fields.target));
    if (mode === undefined) throw refuseArchive(`${quoted(path)} has no mode`);
    const isSetId = (mode & 0o6000n) !== 0n;
    if (isSetId && !this.#rules.image) throw refuseArchive(`${quoted(path)} is set-uid or set-gid`);
    const size = extra.size ?? headerSize;
    const type = this.#type(code, path, name.endsWith("/"));
    if (type !== "file" && size !== 0n) throw refuseArchive(`${quoted(path)} is no file but has bytes`);
    if (type !== "directory" && depth === 0) throw refuseArchive("an entry has no name");
    if (size > BigInt(Number.MAX_SAFE_INTEGER))
      throw refuseArchive(`it unpacks to more than ${Number.MAX_SAFE_INTEGER} bytes`);
    const seconds = headerNumber(fieldBytes(header, fields.mtime)) ?? 0n;
    this.#left = Number(size);
    this.#padding = (blockBytes - (this.#left % blockBytes)) % blockBytes;
    if (type === "link" && !this.#rules.exact && !this.#rules.image) checkTarget(path, depth, target);
    return {
      type,
      path,
      depth,
      target: type === "hard-link" ? checkName(target, this.#rules.depth).path : type === "link" ? target : "",
      mode: Number(mode & 0o777n),
      size: this.#left,
      mtimeNs: extra.mtimeNs ?? seconds * 1_000_000_000n,
      isSetId,
      attributes: extra.attributes,
    };
  }

  #type(code: number, path: string, slash: boolean): TarEntry["type"] {
    const type = tarTypes[code];
    if (type === "device" || type === "FIFO") throw refuseArchive(`${quoted(path)} is a ${type}`);
    if (type === undefined || (type === "unreadable" && !this.#rules.exact))
      throw refuseArchive(`${quoted(path)} is of an unknown kind`);
    if (type === "old-file") return slash ? "directory" : "file";
    if (type === "file" && slash) throw refuseArchive(`${quoted(path)} is a file named as a folder`);
    return type;
  }
}

function isZero(block: Buffer): boolean {
  return block.every((byte) => byte === 0);
}

function text(field: Buffer): string {
  const end = field.indexOf(0);
  return field.toString("latin1", 0, end < 0 ? field.length : end);
}

function headerName(header: Buffer): string {
  const isUstar = fieldBytes(header, fields.magic).toString("latin1") === "ustar\0";
  const prefix = isUstar ? text(fieldBytes(header, fields.prefix)) : "";
  return `${prefix === "" ? "" : `${prefix}/`}${text(fieldBytes(header, fields.name))}`;
}

/** The name without its `.` and empty parts. */
function checkName(name: string, mostDepth: number): { path: string; depth: number } {
  if (name.startsWith("/")) throw refuseArchive(`${quoted(name)} is an absolute name`);
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  for (const part of parts) {
    if (part === "..") throw refuseArchive(`${quoted(name)} leads out of the folder`);
    if (part.length > 255) throw refuseArchive(`${quoted(name)} has a part past 255 bytes`);
  }
  const path = parts.join("/");
  if (path.length + 2 > sandboxLimits.pathBytes) throw refuseArchive(`${quoted(name)} is too long a name`);
  if (parts.length > mostDepth) throw refuseArchive(`${quoted(name)} is deeper than ${mostDepth} folders`);
  return { path, depth: parts.length };
}

/** A target stays in the folder whatever other links it passes: relative, with `..` only at its start, and no more of
 *  them than there are folders above the link. */
export function checkTarget(path: string, depth: number, target: string): void {
  const out = () => refuseArchive(`${quoted(path)} is a link to ${quoted(target)}, out of the folder`);
  if (target === "" || target.startsWith("/")) throw out();
  let up = 0;
  let down = false;
  for (const part of target.split("/")) {
    if (part === "..") {
      if (down || ++up >= depth) throw out();
    } else if (part !== "" && part !== ".") down = true;
  }
}
