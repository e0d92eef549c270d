import { closeSync, constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { wireLimits } from "../packages/server/src/wire/limits.ts";
import { programPath } from "./native-programs.ts";
import { runProgram } from "./program.ts";

const pipeBytes = 256 * 1024;

/** The least a Node process can do to read a FIFO: the socket, buffer and pipe size of the wire, and no frames. */
export class FifoReader implements Disposable {
  readonly writeEnd: number;
  readonly #socket: Socket;
  #bytes = 0;
  #firstMs = 0;
  #lastMs = 0;

  private constructor(path: string) {
    const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    this.writeEnd = openSync(path, constants.O_WRONLY);
    const buffer = Buffer.alloc(wireLimits.receiveBytes);
    this.#socket = new Socket({
      fd,
      readable: true,
      writable: false,
      onread: { buffer, callback: (size) => this.#count(size) },
    });
  }

  static async open(path: string): Promise<FifoReader> {
    await runProgram("/usr/bin/mkfifo", [path]);
    const reader = new FifoReader(path);
    await runProgram(programPath("pipe-size"), [path, String(pipeBytes)]);
    return reader;
  }

  /** Bytes and the time between the first and the last of them, since the last call. */
  take(): { bytes: number; ms: number } {
    const taken = { bytes: this.#bytes, ms: this.#lastMs - this.#firstMs };
    this.#bytes = 0;
    return taken;
  }

  #count(size: number): boolean {
    this.#lastMs = performance.now();
    if (this.#bytes === 0) this.#firstMs = this.#lastMs;
    this.#bytes += size;
    return true;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
    closeSync(this.writeEnd);
  }
}
