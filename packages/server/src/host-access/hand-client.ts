/** The hand of a user that another process runs as. When it is lost everything fails with `unavailable`, and nothing waits on. */
import { Socket } from "node:net";
import { AppError } from "../core/errors.ts";
import type { Argv, HostHand, HostListing, HostPiece, HostResult } from "../core/host-access.ts";
import { LineReader } from "../core/line-reader.ts";
import { hostLimits } from "./limits.ts";
import { fromHand, type Gives, type HandVerb, type Takes, toError, verbs } from "./protocol.ts";

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: AppError) => void;
}

export class HandClient implements HostHand, Disposable {
  /** Resolves when the host's process cannot be spoken to any more. */
  readonly lost: Promise<AppError>;
  readonly #lostGate = Promise.withResolvers<AppError>();
  readonly #socket: Socket;
  readonly #reader = new LineReader(hostLimits.messageBytes);
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #error: AppError | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.lost = this.#lostGate.promise;
    socket.on("error", (cause) => this.#fail(`cannot be reached: ${cause.message}`, cause));
    socket.on("close", () => this.#fail("has ended"));
    socket.on("data", (chunk) => this.#receive(chunk));
  }

  /** Over a socket that whoever started both processes has left in this descriptor. */
  static open(fd: number): Promise<HandClient> {
    return HandClient.over(new Socket({ fd, readable: true, writable: true }));
  }

  static async over(socket: Socket): Promise<HandClient> {
    const client = new HandClient(socket);
    await client.#request("hello", {});
    return client;
  }

  exec(
    argv: Argv,
    { timeoutMs, approved, signal }: { timeoutMs: number; approved?: string; signal?: AbortSignal },
  ): Promise<HostResult> {
    const args = { argv: [...argv], timeoutMs, ...(approved === undefined ? {} : { approved }) };
    return this.#request("exec", args, signal);
  }

  async read(path: string, range: { offset: number; length: number }): Promise<HostPiece> {
    const { bytes, ...piece } = await this.#request("read", { path, ...range });
    return { ...piece, bytes: Buffer.from(bytes, "base64") };
  }

  write(path: string, bytes: Buffer): Promise<{ created: boolean }> {
    return this.#request("write", { path, bytes: bytes.toString("base64") });
  }

  list(path: string): Promise<HostListing> {
    return this.#request("list", { path });
  }

  #request<V extends HandVerb>(verb: V, args: Takes<V>, signal?: AbortSignal): Promise<Gives<V>> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    const n = ++this.#last;
    const cancel = () => this.#send({ cancel: n });
    const answer = new Promise<Gives<V>>((resolve, reject) => {
      const take = (value: unknown) => {
        const given = verbs[verb].gives.safeParse(value);
        if (given.success) resolve(given.data as Gives<V>);
        else reject(this.#fail("speaks another language", given.error));
      };
      this.#waiting.set(n, { resolve: take, reject });
      this.#send({ n, verb, args });
    });
    if (signal?.aborted === true) cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    return answer.finally(() => signal?.removeEventListener("abort", cancel));
  }

  #receive(chunk: Buffer): void {
    this.#reader.push(chunk);
    try {
      for (let line = this.#reader.next(); line !== undefined; line = this.#reader.next()) {
        const message = fromHand.parse(JSON.parse(line));
        const waiting = this.#waiting.get(message.n);
        this.#waiting.delete(message.n);
        if ("error" in message) waiting?.reject(toError(message.error));
        else waiting?.resolve(message.ok);
      }
    } catch (cause) {
      this.#fail("speaks another language", cause);
    }
  }

  #send(message: object): void {
    if (this.#error === undefined) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  #fail(how: string, cause?: unknown): AppError {
    if (this.#error !== undefined) return this.#error;
    this.#error = new AppError("unavailable", `the host's process ${how}`, { cause });
    this.#socket.destroy();
    for (const { reject } of this.#waiting.values()) reject(this.#error);
    this.#waiting.clear();
    this.#lostGate.resolve(this.#error);
    return this.#error;
  }

  [Symbol.dispose](): void {
    this.#fail("is no longer used");
  }
}
