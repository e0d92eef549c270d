import { StringDecoder } from "node:string_decoder";
import type { OutputChannel } from "../core/wire.ts";
import { toolLimits } from "./limits.ts";

/** Output that is told as it comes and kept for the result, as far as both may be. */
export class LiveOutput {
  readonly #tell: (message: string) => void;
  readonly #most: number;
  readonly #kept: Record<OutputChannel, { pieces: Buffer[]; bytes: number; decoder: StringDecoder }>;
  #told = 0;
  truncated = false;

  constructor(tell: (message: string) => void, most: number) {
    this.#tell = tell;
    this.#most = most;
    const channel = () => ({ pieces: [], bytes: 0, decoder: new StringDecoder("utf8") });
    this.#kept = { stdout: channel(), stderr: channel() };
  }

  readonly take = (name: OutputChannel, chunk: Buffer): undefined => {
    const channel = this.#kept[name];
    const room = this.#most - channel.bytes;
    const kept = chunk.subarray(0, Math.max(0, room));
    if (kept.length < chunk.length) this.truncated = true;
    channel.bytes += kept.length;
    if (kept.length > 0) channel.pieces.push(Buffer.from(kept));
    if (this.#told >= toolLimits.toldBytes) return;
    this.#told += chunk.length;
    const text = channel.decoder.write(chunk);
    if (text !== "") this.#tell(text);
  };

  text(name: OutputChannel): string {
    return Buffer.concat(this.#kept[name].pieces).toString();
  }
}
