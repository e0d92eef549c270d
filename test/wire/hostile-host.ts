import { closeSync, constants, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { CreatedSandbox } from "../../packages/server/src/core/engine.ts";
import { errnoOf } from "../../packages/server/src/core/errors.ts";
import { frameTypes, readU64 } from "../../packages/server/src/wire/frame.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { processesOf, readIfThere } from "../leaks.ts";

export interface HostFrame {
  type: number;
  channel?: number;
  epoch?: number;
  stream?: number;
  offset?: bigint;
  payload?: Buffer;
  /** Instead of the payload's own. */
  size?: number;
}

export interface GuestReply {
  type: number;
  channel: number;
  stream: number;
  offset: number;
  payload: Buffer;
}

export function encodeFrame(frame: HostFrame): Buffer {
  const payload = frame.payload ?? Buffer.alloc(0);
  const header = Buffer.alloc(wireLimits.headerBytes);
  header.writeUInt32LE(frame.size ?? payload.length, 0);
  header[4] = frame.type;
  header[5] = frame.channel ?? 0;
  header.writeUInt16LE(frame.epoch ?? 1, 6);
  header.writeUInt32LE(frame.stream ?? 0, 8);
  header.writeBigUInt64LE(frame.offset ?? 0n, 16);
  return Buffer.concat([header, payload]);
}

/** A row of a spec; numbers are u64. */
export function row(tag: number, value: string | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  if (typeof value === "bigint") bytes.writeBigUInt64LE(value);
  const body = typeof value === "bigint" ? bytes : Buffer.from(`${value}\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32LE(tag, 0);
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body]);
}

/** An owner that says to a real guest whatever a test wants. */
export class HostileHost implements Disposable {
  readonly answers: GuestReply[] = [];
  readonly #id: string;
  readonly #in: number;
  readonly #out: number;
  #rest = Buffer.alloc(0);
  #pings = 0n;
  dead = false;
  /** Why it ended, as its engine tells. */
  reason = "";

  constructor(created: CreatedSandbox, died: Promise<string>) {
    const flags = constants.O_RDWR | constants.O_NONBLOCK;
    this.#id = created.id;
    this.#out = openSync(created.toGuestPath, flags);
    this.#in = openSync(created.fromGuestPath, flags);
    const note = (reason: unknown) => {
      this.dead = true;
      this.reason = String(reason);
    };
    died.then(note, note);
  }

  /** Waits where the FIFO is full; a guest that has ended takes nothing more. */
  async send(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length && !this.dead; ) {
      try {
        at += writeSync(this.#out, bytes, at, Math.min(bytes.length - at, wireLimits.toGuestFrameBytes));
      } catch (error) {
        if (errnoOf(error) !== "EAGAIN") throw error;
        this.take();
        await sleep(1);
      }
    }
  }

  frames(...frames: HostFrame[]): Promise<void> {
    return this.send(Buffer.concat(frames.map(encodeFrame)));
  }

  resync(epoch = 1): Promise<void> {
    return this.frames({ type: frameTypes.resync, epoch, payload: Buffer.alloc(16, 7) });
  }

  /** Reads whatever the guest has said. */
  take(): void {
    const chunk = Buffer.alloc(65_536);
    try {
      for (;;) this.#rest = Buffer.concat([this.#rest, chunk.subarray(0, readSync(this.#in, chunk))]);
    } catch (error) {
      if (errnoOf(error) !== "EAGAIN") throw error;
    }
    while (this.#rest.length >= wireLimits.headerBytes) {
      const size = this.#rest.readUInt32LE(0);
      if (this.#rest.length < wireLimits.headerBytes + size) return;
      const [type = 0, channel = 0] = this.#rest.subarray(4, 6);
      const payload = this.#rest.subarray(wireLimits.headerBytes, wireLimits.headerBytes + size);
      this.answers.push({
        type,
        channel,
        stream: this.#rest.readUInt32LE(8),
        offset: readU64(this.#rest, 16),
        payload,
      });
      this.#rest = this.#rest.subarray(wireLimits.headerBytes + size);
    }
  }

  /** Waits for an answer; undefined once the guest has ended without it. */
  async answer(wanted: (answer: GuestReply) => boolean): Promise<GuestReply | undefined> {
    for (;;) {
      const { dead } = this;
      this.take();
      const found = this.answers.find(wanted);
      if (found !== undefined || dead) return found;
      await sleep(2);
    }
  }

  /** Whether it still answers, and has by then done all that came before. */
  async alive(): Promise<boolean> {
    const number = ++this.#pings;
    await this.frames({ type: frameTypes.ping, offset: number });
    const pong = await this.answer(({ type, offset }) => type === frameTypes.pong && offset === Number(number));
    return pong !== undefined;
  }

  /** As alive; where it has ended, with all it said of that. */
  async mustLive(): Promise<void> {
    if (await this.alive()) return;
    const said = this.answers.filter(({ type, stream }) => type === frameTypes.error && stream === 0);
    throw new Error(`the guest has ended (${this.reason}), and said: ${said.map(({ payload }) => payload).join("; ")}`);
  }

  /** Whether the guest said this of itself before it ended. */
  async said(words: string): Promise<boolean> {
    const found = await this.answer(
      ({ type, stream, payload }) => type === frameTypes.error && stream === 0 && payload.toString() === words,
    );
    return found !== undefined;
  }

  #findGuest(): number | undefined {
    return processesOf(this.#id).find((one) => readIfThere(`/proc/${one}/comm`) === "guest\n");
  }

  get guestPid(): number {
    const pid = this.#findGuest();
    if (pid === undefined) throw new Error("there is no guest");
    return pid;
  }

  /** From here on it does nothing, and finds all that comes at once when it goes on. */
  async stopGuest(): Promise<() => void> {
    const { guestPid } = this;
    process.kill(guestPid, "SIGSTOP");
    while (!readIfThere(`/proc/${guestPid}/status`).includes("State:\tT")) await sleep(2);
    return () => process.kill(guestPid, "SIGCONT");
  }

  /** Of the process whose command has this in it, once there is one. */
  async pidOf(text: string): Promise<number> {
    for (;;) {
      const pid = processesOf(this.#id).find((one) => readIfThere(`/proc/${one}/cmdline`).includes(text));
      if (pid !== undefined) return pid;
      await sleep(5);
    }
  }

  /** Returns once the guest has used no processor for a while; a guest that spins never has. */
  async calm(): Promise<void> {
    while (this.#findGuest() === undefined && !this.dead) await sleep(5); // the runtime has not become it yet
    const usedNs = () => Number(readFileSync(`/proc/${this.guestPid}/schedstat`, "utf8").split(" ")[0]);
    for (let before = -1, calm = 0; calm < 5; ) {
      const now = usedNs();
      calm = now - before < 1e6 ? calm + 1 : 0;
      before = now;
      await sleep(100);
    }
  }

  [Symbol.dispose](): void {
    this.dead = true;
    closeSync(this.#in);
    closeSync(this.#out);
  }
}
