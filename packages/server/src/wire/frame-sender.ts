import { streamKinds } from "../core/wire.ts";
import type { FifoWriter } from "./fifo-writer.ts";
import { frameTypes, writeHeader } from "./frame.ts";
import type { Congestion, InputWire, SendFrame, SendFull } from "./input-window.ts";
import { wireLimits } from "./limits.ts";

const { bulkFrames, headerBytes, toGuestFrameBytes } = wireLimits;
const payloadBytes = toGuestFrameBytes - headerBytes;
const bulkBytes = bulkFrames * payloadBytes;
const inputChannel = 0;
const two32 = 2 ** 32;
/** Frames on their way out, of any connection: they are written or copied before the next ones are made. */
const outgoing = Buffer.alloc(bulkFrames * toGuestFrameBytes);
/** The same in words: little-endian, as the wire is and every machine this runs on. */
const words = new Uint32Array(outgoing.buffer, outgoing.byteOffset, outgoing.length / 4);

const isTunnel = (kind: number) => kind >= streamKinds.listen && kind <= streamKinds.datagrams;

/** Makes the frames of one owner for its guest. */
export class FrameSender implements InputWire {
  readonly #writer: FifoWriter;
  readonly #epoch: number;
  /** Of one reading, a channel gets the last credit only: each one wakes the guest. */
  readonly #credits = new Map<number, { channel: number; stream: number; offset: number }>();
  #gathering = false;

  constructor(writer: FifoWriter, epoch: number) {
    this.#writer = writer;
    this.#epoch = epoch;
  }

  get congestion(): Congestion {
    return this.#writer.congestion;
  }

  get queued(): number {
    return this.#writer.queued;
  }

  readonly send: SendFrame = (type, channel, stream, offset, payload) => {
    if (type === frameTypes.credit && this.#gathering) {
      this.#credits.set(stream * 4 + channel, { channel, stream, offset });
      return;
    }
    const size = payload?.length ?? 0;
    writeHeader(outgoing, { size, type, channel, epoch: this.#epoch, stream, offset });
    if (payload !== undefined) outgoing.set(payload, headerBytes);
    const frame = outgoing.subarray(0, headerBytes + size);
    if (type === frameTypes.close || (type === frameTypes.open && isTunnel(channel))) this.#writer.sendLater(frame);
    else this.#writer.send(frame);
  };

  readonly sendFull: SendFull = (stream, offset, chunk) => {
    for (let from = 0; from < chunk.length; from += bulkBytes)
      this.#sendFrames(stream, offset + from, chunk.subarray(from, from + bulkBytes));
  };

  /** Their headers are as `writeHeader` makes them. */
  #sendFrames(stream: number, offset: number, chunk: Uint8Array): void {
    const kind = frameTypes.data + (inputChannel << 8) + (this.#epoch << 16);
    let at = 0;
    for (let from = 0; from < chunk.length; from += payloadBytes, at += toGuestFrameBytes) {
      const word = at / 4;
      words[word] = payloadBytes;
      words[word + 1] = kind;
      words[word + 2] = stream;
      words[word + 3] = 0;
      words[word + 4] = offset + from;
      words[word + 5] = (offset + from) / two32;
      outgoing.set(chunk.subarray(from, from + payloadBytes), at + headerBytes);
    }
    this.#writer.sendFull(outgoing.subarray(0, at));
  }

  /** Credits wait for `giveCredits`. */
  gatherCredits(): void {
    this.#gathering = true;
  }

  giveCredits(): void {
    this.#gathering = false;
    for (const { channel, stream, offset } of this.#credits.values())
      this.send(frameTypes.credit, channel, stream, offset);
    this.#credits.clear();
  }
}
