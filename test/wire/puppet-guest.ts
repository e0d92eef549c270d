import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { errnoOf } from "../../packages/server/src/core/errors.ts";
import { frameTypes, writeHeader, writeU64 } from "../../packages/server/src/wire/frame.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";

export interface PuppetFrame {
  type: number;
  channel?: number;
  /** Added to the right one. */
  epochShift?: number;
  stream?: number;
  reserved?: number;
  offset?: number;
  payload?: Buffer;
  /** Instead of the payload's own. */
  size?: number;
}

/** The guest's end of two real FIFOs, which says whatever a test wants. */
export class PuppetGuest implements Disposable {
  readonly toGuestPath: string;
  readonly fromGuestPath: string;
  readonly #folder = mkdtempSync("/var/tmp/caisson-puppet-");
  readonly #in: number;
  readonly #out: number;
  epoch = 0;
  nonce = Buffer.alloc(16);

  constructor() {
    this.toGuestPath = join(this.#folder, "to-guest");
    this.fromGuestPath = join(this.#folder, "from-guest");
    execFileSync("mkfifo", ["-m", "600", this.toGuestPath, this.fromGuestPath]);
    this.#in = openSync(this.toGuestPath, constants.O_RDWR | constants.O_NONBLOCK);
    this.#out = openSync(this.fromGuestPath, constants.O_RDWR | constants.O_NONBLOCK);
  }

  /** Waits for an owner's first frame and remembers what it says. */
  async meet(): Promise<void> {
    const size = wireLimits.headerBytes + this.nonce.length;
    for (;;) {
      const bytes = this.read();
      const at = bytes.length - size;
      if (at >= 0 && bytes[at + 4] === frameTypes.resync) {
        this.epoch = bytes.readUInt16LE(at + 6);
        this.nonce = Buffer.from(bytes.subarray(at + wireLimits.headerBytes));
        return;
      }
      await turn();
    }
  }

  /** Everything the host has sent since the last look. */
  read(): Buffer {
    const chunks: Buffer[] = [];
    try {
      for (;;) {
        const chunk = Buffer.alloc(65_536);
        chunks.push(chunk.subarray(0, readSync(this.#in, chunk)));
      }
    } catch (error) {
      if (errnoOf(error) !== "EAGAIN") throw error;
    }
    return Buffer.concat(chunks);
  }

  encode(frame: PuppetFrame): Buffer {
    const payload = frame.payload ?? Buffer.alloc(0);
    const header = Buffer.alloc(wireLimits.headerBytes);
    writeHeader(header, {
      size: frame.size ?? payload.length,
      type: frame.type,
      channel: frame.channel ?? 0,
      epoch: (this.epoch + (frame.epochShift ?? 0)) & 0xffff,
      stream: frame.stream ?? 0,
      offset: frame.offset ?? 0,
    });
    header.writeUInt32LE(frame.reserved ?? 0, 12);
    return Buffer.concat([header, payload]);
  }

  /** The answer to an owner: the last id it used, and how many streams of former owners it says there are. */
  hello(highest = 0, live = highest, version: number = wireLimits.version): Buffer {
    const payload = Buffer.alloc(40);
    this.nonce.copy(payload);
    payload.writeUInt32LE(version, 16);
    payload.writeUInt32LE(highest, 32);
    payload.writeUInt32LE(live, 36);
    return this.encode({ type: frameTypes.hello, payload });
  }

  /** Sends while the host reads, and as long as it does; `over` says when it no longer will. */
  async say(bytes: Buffer, over: () => boolean): Promise<void> {
    for (let at = 0; at < bytes.length && !over(); ) {
      try {
        at += writeSync(this.#out, bytes, at);
      } catch (error) {
        if (errnoOf(error) !== "EAGAIN") throw error;
        this.read();
        await turn();
      }
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#in);
    closeSync(this.#out);
    rmSync(this.#folder, { recursive: true });
  }
}

/** The payload of STATE. */
export function statePayload(received = 0, consumed = 0, out = 0, err = 0): Buffer {
  const payload = Buffer.alloc(48);
  for (const [i, value] of [received, consumed, out, err].entries()) writeU64(payload, value, 8 + 8 * i);
  return payload;
}
