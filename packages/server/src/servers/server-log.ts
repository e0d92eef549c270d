import { type FileHandle, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf } from "../core/errors.ts";
import { Turn } from "../lib/turn.ts";
import { serverLimits } from "./limits.ts";

/**
 * Output of one server's programs: two files that take turns, so that it never holds more than its limit. A program that
 * writes faster than its rate waits, and slows nobody else down.
 */
export class ServerLog {
  readonly #folder: string;
  readonly #turn = new Turn();
  #file: FileHandle | undefined;
  #size = 0;
  #writers = 0;
  /** Bytes that may be written now; refilled with time. */
  #allowance: number = serverLimits.logBytesPerSecond;
  #refilledMs = performance.now();
  readonly #followers = new Set<(text: string) => void>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Keeps a file open until the writer is disposed of: a server that is stopped has none. */
  writer(): { append(piece: Buffer): Promise<void>; tail(): string } & AsyncDisposable {
    this.#writers += 1;
    let tail: Buffer = Buffer.alloc(0);
    let isOpen = true;
    return {
      append: (piece) => {
        const copy = Buffer.from(piece);
        tail = Buffer.concat([tail, copy]).subarray(-serverLimits.tailBytes);
        return this.#turn.take(() => this.#append(copy));
      },
      tail: () => tail.toString(),
      [Symbol.asyncDispose]: async () => {
        if (!isOpen) return;
        isOpen = false;
        await this.#turn.take(async () => {
          this.#writers -= 1;
          if (this.#writers === 0) await this.#close();
        });
      },
    };
  }

  /** A line of the daemon's own. */
  note(text: string): Promise<void> {
    return this.#turn.take(async () => {
      await this.#append(Buffer.from(`[caisson] ${text}\n`));
      if (this.#writers === 0) await this.#close();
    });
  }

  async #append(piece: Buffer): Promise<void> {
    await this.#throttle(piece.length);
    if (this.#file === undefined) await this.#open();
    if (this.#size + piece.length > serverLimits.logBytes / 2) await this.#rotate();
    await this.#file?.write(piece);
    this.#size += piece.length;
    for (const follow of this.#followers) follow(piece.toString());
  }

  async #throttle(bytes: number): Promise<void> {
    const perMs = serverLimits.logBytesPerSecond / 1_000;
    const now = performance.now();
    const most = serverLimits.logBytesPerSecond;
    this.#allowance = Math.min(most, this.#allowance + (now - this.#refilledMs) * perMs) - bytes;
    this.#refilledMs = now;
    if (this.#allowance < 0) await sleep(-this.#allowance / perMs, undefined, { ref: false });
  }

  async #open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    this.#file = await open(this.#path("log"), "a", 0o600);
    this.#size = (await this.#file.stat()).size;
  }

  async #rotate(): Promise<void> {
    await this.#close();
    await rename(this.#path("log"), this.#path("log.1"));
    await this.#open();
  }

  async #close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  /** All that is kept; with `follow` also what comes, until `gone` is aborted. A slow reader loses what it does not take. */
  async *read({ follow, gone }: { follow: boolean; gone: AbortSignal }): AsyncGenerator<string> {
    const waiting: string[] = [];
    let waitingBytes = 0;
    let wake: (() => void) | undefined;
    const push = (text: string) => {
      waiting.push(text);
      waitingBytes += text.length;
      while (waitingBytes > serverLimits.followBytes) waitingBytes -= waiting.shift()?.length ?? 0;
      wake?.();
    };
    const abort = () => wake?.();
    try {
      const kept = await this.#turn.take(async () => {
        if (follow) this.#followers.add(push);
        return (await Promise.all(["log.1", "log"].map((name) => this.#read(name)))).join("");
      });
      if (kept !== "") yield kept;
      gone.addEventListener("abort", abort, { once: true });
      while (follow && !gone.aborted) {
        const next = waiting.shift();
        if (next !== undefined) {
          waitingBytes -= next.length;
          yield next;
        } else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      gone.removeEventListener("abort", abort);
      this.#followers.delete(push);
    }
  }

  async #read(name: string): Promise<string> {
    try {
      return await readFile(this.#path(name), "utf8");
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return "";
      throw error;
    }
  }

  async bytes(): Promise<number> {
    const sizes = ["log.1", "log"].map((name) =>
      stat(this.#path(name))
        .then(({ size }) => size)
        .catch(() => 0),
    );
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }

  remove(): Promise<void> {
    return this.#turn.take(async () => {
      await this.#close();
      await rm(this.#folder, { recursive: true, force: true });
    });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}
