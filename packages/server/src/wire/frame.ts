import { wireLimits } from "./limits.ts";

export const frameTypes = {
  hello: 1,
  resync: 2,
  config: 3,
  ping: 4,
  pong: 5,
  open: 6,
  started: 7,
  data: 8,
  credit: 9,
  end: 10,
  exit: 11,
  close: 12,
  signal: 13,
  error: 14,
  state: 15,
  resize: 16,
} as const;

export interface FrameHeader {
  size: number;
  type: number;
  channel: number;
  epoch: number;
  stream: number;
  offset: number;
}

const { controlPayloadBytes, headerBytes } = wireLimits;
const two32 = 2 ** 32;

export function writeHeader(into: Buffer, header: FrameHeader, at = 0): void {
  into.writeUInt32LE(header.size, at);
  into[at + 4] = header.type;
  into[at + 5] = header.channel;
  into.writeUInt16LE(header.epoch, at + 6);
  into.writeUInt32LE(header.stream, at + 8);
  into.writeUInt32LE(0, at + 12);
  writeU64(into, header.offset, at + 16);
}

export function writeU64(into: Buffer, value: number, at: number): void {
  into.writeUInt32LE(value % two32, at);
  into.writeUInt32LE(Math.floor(value / two32), at + 4);
}

/** A number past 2^53 comes out as one no valid offset equals. */
export function readU64(from: Buffer, at: number): number {
  return from.readUInt32LE(at) + from.readUInt32LE(at + 4) * two32;
}

/** A frame that no honest guest sends. The sandbox it came from ends; nothing else does. */
export class WireViolation extends Error {}

const guestFrames: ReadonlySet<number> = new Set([
  frameTypes.hello,
  frameTypes.pong,
  frameTypes.started,
  frameTypes.data,
  frameTypes.credit,
  frameTypes.end,
  frameTypes.exit,
  frameTypes.error,
  frameTypes.state,
]);

export interface FrameSink {
  /** A piece of a DATA frame, as it lies in the receive buffer; `offset` is of its first byte. */
  data(stream: number, channel: number, offset: number, chunk: Buffer): void;
  control(header: FrameHeader, payload: Buffer): void;
}

/** Cuts the byte stream of a guest into frames without copying data. Everything it reads is hostile. */
export class FrameParser {
  readonly #sink: FrameSink;
  readonly #epoch: number;
  readonly #partial = Buffer.alloc(headerBytes + controlPayloadBytes);
  #have = 0;
  #header: FrameHeader | undefined;
  #dataDone = 0;

  constructor(epoch: number, sink: FrameSink) {
    this.#epoch = epoch;
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      const header = this.#header;
      if (header === undefined) at = this.#takeHeader(chunk, at);
      else if (header.type === frameTypes.data) at = this.#takeData(header, chunk, at);
      else at = this.#takeControl(header, chunk, at);
    }
  }

  #takeHeader(chunk: Buffer, at: number): number {
    if (this.#have === 0 && chunk.length - at >= headerBytes) {
      this.#begin(this.#readHeader(chunk, at));
      return at + headerBytes;
    }
    const size = Math.min(headerBytes - this.#have, chunk.length - at);
    chunk.copy(this.#partial, this.#have, at, at + size);
    this.#have += size;
    if (this.#have === headerBytes) {
      this.#have = 0;
      this.#begin(this.#readHeader(this.#partial, 0));
    }
    return at + size;
  }

  #begin(header: FrameHeader): void {
    if (header.size > 0) this.#header = header;
    else this.#sink.control(header, this.#partial.subarray(0, 0));
  }

  #takeData(header: FrameHeader, chunk: Buffer, at: number): number {
    const size = Math.min(header.size - this.#dataDone, chunk.length - at);
    const offset = header.offset + this.#dataDone;
    this.#dataDone += size;
    if (this.#dataDone === header.size) {
      this.#header = undefined;
      this.#dataDone = 0;
    }
    this.#sink.data(header.stream, header.channel, offset, chunk.subarray(at, at + size));
    return at + size;
  }

  #takeControl(header: FrameHeader, chunk: Buffer, at: number): number {
    const size = Math.min(header.size - this.#have, chunk.length - at);
    chunk.copy(this.#partial, this.#have, at, at + size);
    this.#have += size;
    if (this.#have === header.size) {
      this.#have = 0;
      this.#header = undefined;
      this.#sink.control(header, this.#partial.subarray(0, header.size));
    }
    return at + size;
  }

  #readHeader(from: Buffer, at: number): FrameHeader {
    const type = from.readUInt8(at + 4);
    const size = from.readUInt32LE(at);
    const epoch = from.readUInt16LE(at + 6);
    if (!guestFrames.has(type)) throw new WireViolation(`a frame of unknown type ${type}`);
    if (epoch !== this.#epoch) throw new WireViolation(`a frame of epoch ${epoch}, not ${this.#epoch}`);
    if (from.readUInt32LE(at + 12) !== 0) throw new WireViolation("a frame with reserved bits set");
    const most = type === frameTypes.data ? wireLimits.fromGuestPayloadBytes : controlPayloadBytes;
    if (size > most) throw new WireViolation(`a frame of ${size} bytes, past ${most}`);
    if (type === frameTypes.data && size === 0) throw new WireViolation("an empty data frame");
    const stream = from.readUInt32LE(at + 8);
    const offset = readU64(from, at + 16);
    if (offset > Number.MAX_SAFE_INTEGER) throw new WireViolation("an offset past any stream's end");
    return { size, type, channel: from.readUInt8(at + 5), epoch, stream, offset };
  }
}
