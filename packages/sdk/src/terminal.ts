import { CaissonError, ConnectionError } from "./error.ts";
import type { TerminalSize } from "./processes.ts";
import type { Transport } from "./transport.ts";

export interface TerminalOptions extends Partial<TerminalSize> {
  /** A line for the shell; a shell unless given. */
  command?: string;
  onOutput: (data: Uint8Array) => void;
}

export interface TerminalEnd {
  run_id: string;
  exit_code: number;
  signal: string | null;
  duration_ms: number;
}

/** A terminal in a sandbox. Closing it ends what runs there. */
export class Terminal implements Disposable {
  /** How it ended. Rejects when the connection did before it. */
  readonly ended: Promise<TerminalEnd>;
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket, ended: Promise<TerminalEnd>) {
    this.#socket = socket;
    this.ended = ended;
    ended.catch(() => {}); // whoever waits for it hears of it
  }

  static async open(transport: Transport, sandboxPath: string, options: TerminalOptions): Promise<Terminal> {
    const { onOutput, ...query } = options;
    const path = `${sandboxPath}/terminal`;
    // A WebSocket cannot send a header, so a ticket stands in for the key.
    const { ticket } = await transport.json<{ ticket: string }>("POST", `${path}/ticket`);
    const socket = transport.openSocket(path, { ...query, ticket });
    socket.binaryType = "arraybuffer";
    const opened = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<TerminalEnd>();
    socket.onopen = () => opened.resolve();
    socket.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) onOutput(new Uint8Array(data));
      else ended.resolve(JSON.parse(String(data)));
    };
    socket.onclose = ({ code, reason }) => {
      const why = code === 1006 ? new ConnectionError("the terminal broke off") : new CaissonError(`closed: ${reason}`);
      opened.reject(why);
      ended.reject(why);
    };
    ended.promise.catch(() => {});
    await opened.promise;
    return new Terminal(socket, ended.promise);
  }

  write(data: string | Uint8Array<ArrayBuffer>): void {
    this.#socket.send(typeof data === "string" ? new TextEncoder().encode(data) : data);
  }

  resize({ rows, columns }: TerminalSize): void {
    this.#socket.send(JSON.stringify({ type: "resize", rows, columns }));
  }

  signal(signal: number): void {
    this.#socket.send(JSON.stringify({ type: "signal", signal }));
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
