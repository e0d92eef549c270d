import { AppError } from "../core/errors.ts";
import type { TreeEntry } from "../core/tree.ts";

/** The numbers are kept in manifests. */
const types = ["file", "directory", "link", "hard-link", "unreadable"] as const;
const digestBytes = 32;

/** Entries as bytes: a path says how much it shares with the one before. */
export class TreeEncoder {
  readonly #parts: Buffer[] = [];
  #before = "";
  bytes = 0;
  count = 0;

  add(entry: TreeEntry): void {
    const shared = sharedLength(this.#before, entry.path);
    this.#number(types.indexOf(entry.type));
    this.#number(entry.mode);
    this.#number(zigzag(entry.mtimeNs));
    this.#number(shared);
    this.#text(entry.path.slice(shared));
    if (entry.type === "link" || entry.type === "hard-link") this.#text(entry.target);
    if (entry.type === "file") this.#file(entry);
    this.#before = entry.path;
    this.count++;
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #file({ size, chunks, sha256 }: TreeEntry): void {
    this.#number(size);
    this.#number(chunks.length);
    for (const digest of chunks) this.#push(Buffer.from(digest, "hex"));
    if (chunks.length > 1) this.#push(Buffer.from(sha256, "hex")); // else it is the only chunk's, or that of nothing
  }

  #number(value: number | bigint): void {
    const bytes: number[] = [];
    let rest = BigInt(value);
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    this.#push(Buffer.from(bytes));
  }

  #text(text: string): void {
    this.#number(text.length);
    this.#push(Buffer.from(text, "latin1"));
  }

  #push(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.bytes += bytes.length;
  }
}

function sharedLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let at = 0;
  while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}

function zigzag(value: bigint): bigint {
  return value < 0n ? -value * 2n - 1n : value * 2n;
}

const emptySha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** What an encoder made. It was checked by its digest: what makes no sense here is a mistake of ours. */
export function* decodeTree(bytes: Buffer): Generator<TreeEntry> {
  let at = 0;
  const damaged = () => new AppError("internal", "a manifest is damaged");
  const slice = (size: number) => {
    const part = bytes.subarray(at, at + size);
    if (part.length !== size) throw damaged();
    at += size;
    return part;
  };
  const number = () => {
    for (let value = 0n, shift = 0n; shift < 70n; shift += 7n) {
      const byte = slice(1)[0] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw damaged();
  };
  const small = () => Number(number());
  const text = () => slice(small()).toString("latin1");
  let before = "";
  while (at < bytes.length) {
    const type = types[small()];
    if (type === undefined) throw damaged();
    const mode = small();
    const folded = number();
    const mtimeNs = folded & 1n ? -((folded + 1n) / 2n) : folded / 2n;
    const path = before.slice(0, small()) + text();
    const entry: TreeEntry = { type, path, mode, mtimeNs, size: 0, sha256: "", chunks: [], target: "" };
    if (type === "link" || type === "hard-link") entry.target = text();
    if (type === "file") {
      entry.size = small();
      entry.chunks = Array.from({ length: small() }, () => slice(digestBytes).toString("hex"));
      entry.sha256 = entry.chunks.length > 1 ? slice(digestBytes).toString("hex") : (entry.chunks[0] ?? emptySha256);
    }
    before = path;
    yield entry;
  }
}
