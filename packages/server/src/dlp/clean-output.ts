import type { RedactionStream } from "../core/redaction.ts";
import { redactionLimits } from "./limits.ts";

type Give<C extends string> = (channel: C, piece: Buffer) => Promise<void> | undefined;

/** Output of a channel, up to a place in its stream, that waits. */
interface Waiting<C> {
  channel: C;
  toBytes: number;
}

/**
 * Output channels without the values bound to their sandbox (S43). What waits does so for a number of bytes or of ticks,
 * the same for every text (S86). What the clock lets out leaves in the order in which it came, over all channels.
 */
export class CleanOutput<C extends string> {
  readonly #streams: Readonly<Record<C, RedactionStream>>;
  readonly #give: Give<C>;
  #waiting: Waiting<C>[] = [];
  /** So many of them came before the last tick. */
  #aged = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Output that the clock released and that is not finished. */
  #sending: Promise<unknown> | undefined;

  constructor(streams: Readonly<Record<C, RedactionStream>>, give: Give<C>) {
    this.#streams = streams;
    this.#give = give;
  }

  /** Undefined when all that may go out is done with. What waits is a copy. */
  push(channel: C, chunk: Buffer): Promise<unknown> | undefined {
    const stream = this.#streams[channel];
    const wait = this.#giveAll(channel, stream.push(chunk));
    if (stream.heldBytes > 0) this.#wait(channel, stream.receivedBytes);
    return join([this.#sending, wait]);
  }

  /** Releases all that waits, and starts a channel anew. */
  cut(channel: C): Promise<unknown> | undefined {
    this.#stop();
    return join([this.#release(this.#waiting.length), this.#giveAll(channel, this.#streams[channel].end())]);
  }

  /** Nothing more comes. */
  end(): Promise<unknown> | undefined {
    return join((Object.keys(this.#streams) as C[]).map((channel) => this.cut(channel)));
  }

  /** Stops all output. */
  close(): void {
    this.#stop();
    this.#waiting = [];
  }

  #wait(channel: C, toBytes: number): void {
    const last = this.#waiting.length > this.#aged ? this.#waiting.at(-1) : undefined;
    if (last?.channel === channel) last.toBytes = toBytes;
    else this.#waiting.push({ channel, toBytes });
    this.#timer ??= setTimeout(this.#tick, redactionLimits.tickMs).unref();
  }

  readonly #tick = (): void => {
    this.#release(this.#aged)?.catch(() => undefined);
    this.#aged = this.#waiting.length;
    this.#timer = this.#aged === 0 ? undefined : setTimeout(this.#tick, redactionLimits.tickMs).unref();
  };

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #release(count: number): Promise<unknown> | undefined {
    const waits = this.#waiting
      .splice(0, count)
      .map(({ channel, toBytes }) => this.#giveAll(channel, this.#streams[channel].release(toBytes)));
    this.#aged = 0;
    const sending = join([this.#sending, ...waits]);
    this.#sending = sending;
    const done = () => {
      if (this.#sending === sending) this.#sending = undefined;
    };
    sending?.then(done, done);
    return sending;
  }

  #giveAll(channel: C, pieces: readonly Buffer[]): Promise<unknown> | undefined {
    return join(pieces.map((piece) => this.#give(channel, piece)));
  }
}

function join(waits: readonly (Promise<unknown> | undefined)[]): Promise<unknown> | undefined {
  const left = waits.filter((wait) => wait !== undefined);
  return left.length === 0 ? undefined : Promise.all(left);
}
