import { type LiveOptions, readLive } from "./live.ts";
import type { ProcessResult, RunOptions } from "./run.ts";
import type { Transport } from "./transport.ts";

export interface TerminalSize {
  rows: number;
  columns: number;
}

export interface StartOptions
  extends Pick<RunOptions, "cwd" | "env" | "timeout_seconds" | "resource_limits" | "priority"> {
  /** True: its stdin can be written to. */
  stdin?: boolean;
  /** A terminal in place of pipes. */
  terminal?: TerminalSize;
}

export interface ProcessInfo {
  id: string;
  run_id: string;
  pid: number | null;
  state: "running" | "exited" | "lost";
  command: string[];
  started_at: string;
  result: ProcessResult | null;
  /** The bytes of each channel that can be read. */
  output: Record<"stdout" | "stderr", { from: number; to: number }>;
}

export interface OutputPiece {
  offset: number;
  next_offset: number;
  data: string;
  /** Nothing more will come. */
  ended: boolean;
}

export interface OutputOptions {
  offset?: number;
  channel?: "stdout" | "stderr";
  encoding?: "utf8" | "base64";
}

export type OutputMessage =
  | { type: "output"; offset: number; next_offset: number; data: string }
  | ({ type: "exit" } & ProcessInfo);

/** A process in the background of a sandbox. */
export class Process {
  readonly id: string;
  /** As it was when this handle was made or last refreshed. */
  info: ProcessInfo;
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, path: string, info: ProcessInfo) {
    this.id = info.id;
    this.info = info;
    this.#transport = transport;
    this.#path = `${path}/${encodeURIComponent(info.id)}`;
  }

  async refresh(): Promise<ProcessInfo> {
    this.info = await this.#transport.json("GET", this.#path);
    return this.info;
  }

  /** Reads output from an offset on. */
  read(options: OutputOptions & { max_bytes?: number } = {}): Promise<OutputPiece> {
    return this.#transport.json("GET", `${this.#path}/output`, { query: { ...options } });
  }

  /** Everything from an offset on, as it is written, and its end as the last. */
  output(options: OutputOptions & LiveOptions = {}): AsyncGenerator<OutputMessage, void> {
    const { signal, ...query } = options;
    const call = { query, ...(signal === undefined ? {} : { signal }) };
    return readLive<OutputMessage>(this.#transport, "GET", `${this.#path}/output`, call, "exit");
  }

  /** False when the process no longer reads. */
  write(data: string): Promise<boolean> {
    return this.#tell("stdin", { data });
  }

  closeInput(): Promise<boolean> {
    return this.#tell("stdin", { close: true });
  }

  /** For its process group. False when it has ended. */
  signal(signal: string | number): Promise<boolean> {
    return this.#tell("signal", { signal });
  }

  resize(size: TerminalSize): Promise<boolean> {
    return this.#tell("resize", size);
  }

  /** Resolves when it has ended. */
  async wait({ signal }: LiveOptions = {}): Promise<ProcessInfo> {
    const call = { timeoutMs: null, ...(signal === undefined ? {} : { signal }) };
    do this.info = await this.#transport.json<ProcessInfo>("POST", `${this.#path}/wait`, call);
    while (this.info.state === "running");
    return this.info;
  }

  /** Ends its whole tree. */
  async kill(): Promise<void> {
    await this.#transport.json("DELETE", this.#path);
  }

  async #tell(verb: string, json: object): Promise<boolean> {
    const { delivered } = await this.#transport.json<{ delivered: boolean }>("POST", `${this.#path}/${verb}`, { json });
    return delivered;
  }
}

export class Processes {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, sandboxPath: string) {
    this.#transport = transport;
    this.#path = `${sandboxPath}/processes`;
  }

  async start(command: string | readonly string[], options: StartOptions = {}): Promise<Process> {
    const call = { json: { command, ...options }, idempotencyKey: crypto.randomUUID() };
    return this.#handle(await this.#transport.json("POST", this.#path, call));
  }

  async list(): Promise<Process[]> {
    return (await this.#transport.json<ProcessInfo[]>("GET", this.#path)).map((info) => this.#handle(info));
  }

  async get(id: string): Promise<Process> {
    return this.#handle(await this.#transport.json("GET", `${this.#path}/${encodeURIComponent(id)}`));
  }

  #handle(info: ProcessInfo): Process {
    return new Process(this.#transport, this.#path, info);
  }
}
