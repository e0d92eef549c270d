import { AppError, type ErrorCode } from "../../core/errors.ts";
import { engineLimits } from "../limits.ts";
import { type StartedProcess, startProcess } from "../spawn.ts";

/** One `key=value` of a request; a key may come more than once. */
export type Argument = readonly [key: string, value: string | number];
export type Reply = Readonly<Record<string, string>>;

export interface HelperEvents {
  /** A watched sandbox has ended; `how` is `code=N`, `signal=N` or empty where nobody could learn it. */
  onExit: (id: string, how: string) => void;
  onDeath: (error: AppError) => void;
}

interface Waiting {
  resolve: (reply: Reply) => void;
  reject: (error: AppError) => void;
}

const codes: Record<string, ErrorCode> = {
  ETIMEDOUT: "timeout",
  ENOSPC: "limit_exceeded",
  ESRCH: "not_found",
  EOPNOTSUPP: "unsupported",
};

const refusalHint =
  "User namespaces must be allowed (sysctl user.max_user_namespaces), and newuidmap and newgidmap setuid: see docs/rootless.md.";

/** The resident C helper: one process an owner. When it dies, what it was asked for fails, and its locks are free. */
export class HelperClient implements AsyncDisposable {
  readonly #process: StartedProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  readonly #on: HelperEvents;
  #sequence = 0;
  #rest = "";
  #death: AppError | undefined;

  /** The words are `serve`, or those by which an ordinary user's helper gets its namespace first. */
  constructor(path: string, args: readonly string[], on: HelperEvents) {
    this.#on = on;
    this.#process = startProcess(path, args);
    const ended = Promise.withResolvers<void>();
    this.#ended = ended.promise;
    const die = (why: string, cause?: unknown) => {
      this.#fail(
        new AppError("unavailable", `the host helper ${why}`, {
          cause,
          hint: `check that ${path} runs on this machine; ./caisson --setup compiles it`,
        }),
      );
      ended.resolve();
    };
    this.#process.on("error", (cause) => die(`cannot be started: ${cause.message}`, cause));
    this.#process.on("exit", (code, signal) => die(`has ended (${signal ?? `exit code ${code}`})`));
    this.#process.stdin?.on("error", (cause) => die(`does not listen: ${cause.message}`, cause));
    this.#process.stdout?.setEncoding("utf8").on("data", (text: string) => this.#read(text));
  }

  get dead(): boolean {
    return this.#death !== undefined;
  }

  /** What the helper holds of a saved sandbox, by its numbers there; for an engine that is root. */
  memoryOf({ state, about, pages }: Reply): string[] {
    return [state, about, pages].map((fd) => `/proc/${this.#process.pid}/fd/${Number(fd)}`);
  }

  request(verb: string, args: readonly Argument[]): Promise<Reply> {
    if (this.#death !== undefined) return Promise.reject(this.#death);
    const sequence = ++this.#sequence;
    const strings = [String(sequence), verb, ...args.map(([key, value]) => `${key}=${value}`)];
    if (strings.some((string) => string.includes("\0"))) {
      return Promise.reject(new AppError("invalid", "a path contains a NUL byte"));
    }
    const body = Buffer.from(`${strings.join("\0")}\0`);
    const frame = Buffer.allocUnsafe(4 + body.length);
    frame.writeUInt32LE(body.length, 0);
    body.copy(frame, 4);
    return new Promise((resolve, reject) => {
      this.#waiting.set(sequence, { resolve, reject });
      this.#process.stdin?.write(frame);
    });
  }

  /** Ends watch and lock of a sandbox that is no more. A dead helper holds neither. */
  async forget(id: string, folder: string): Promise<void> {
    if (this.#death !== undefined) return;
    await Promise.all([this.request("watch", [["id", id]]), this.request("unlock", [["folder", folder]])]);
  }

  /** The helper leaves at the end of its input, and with it every lock. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.stdin?.end();
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), engineLimits.killTimeoutMs);
    await this.#ended;
    clearTimeout(timer);
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#readLine(line);
  }

  #readLine(line: string): void {
    const [first = "", second = "", third = "", ...more] = line.split(" ");
    if (first === "event" && second === "exited") {
      this.#on.onExit(third, more.join(" "));
      return;
    }
    if (first === "event" && second === "refused") {
      const why = [third, ...more].join(" ").trim();
      this.#fail(new AppError("unsupported", `cannot create sandboxes as this user: ${why}`, { hint: refusalHint }));
      return;
    }
    const waiting = this.#waiting.get(Number(first));
    if (waiting === undefined) return;
    this.#waiting.delete(Number(first));
    if (second === "ok") {
      const pairs = line
        .split(" ")
        .slice(2)
        .filter((word) => word.includes("="));
      waiting.resolve(
        Object.fromEntries(pairs.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)])),
      );
    } else {
      const message = more.join(" ").trim();
      waiting.reject(new AppError(codes[third] ?? "internal", message, { details: { errno: third } }));
    }
  }

  #fail(error: AppError): void {
    if (this.#death !== undefined) return;
    this.#death = error;
    this.#on.onDeath(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
