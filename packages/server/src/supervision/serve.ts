import { AppError } from "../core/errors.ts";
import { LineReader } from "../core/line-reader.ts";
import { supervisionLimits } from "./limits.ts";

export interface Serving {
  /** What the supervisor is told. */
  ready: object;
  /** Takes a message that the supervisor sends while it runs. */
  take?(message: unknown): void;
  /** Resolves when it cannot go on: the process then ends, and is started again. */
  lost?: Promise<Error>;
  close(): Promise<void>;
}

/** Into the process's log. An error with a code says all in its message; of any other the place tells more. */
export function logError(error: unknown): void {
  console.error(
    error instanceof Error && !(error instanceof AppError) ? (error.stack ?? error.message) : String(error),
  );
}

/** The life of a process that a supervisor starts: it is told its configuration, says when it is ready, and leaves when asked. */
export async function serve<C>(start: (configuration: C) => Promise<Serving>): Promise<never> {
  process.on("uncaughtException", (error) => {
    logError(error);
    process.exit(1);
  });
  const { first, rest, ended } = readInput();
  const leave = Promise.race([ended, signalled()]);
  let serving: Serving;
  try {
    serving = await start(JSON.parse(await first) as C);
  } catch (error) {
    return fail(error);
  }
  tell({ ready: serving.ready });
  rest((line) => serving.take?.(JSON.parse(line)));
  const lost = await Promise.race([leave, serving.lost ?? new Promise<never>(() => undefined)]);
  if (lost instanceof Error) logError(lost);
  setTimeout(() => process.exit(1), supervisionLimits.drainTimeoutMs).unref();
  await serving.close();
  process.exit(lost instanceof Error ? 1 : 0);
}

function tell(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** Exits once the words are on their way: a pipe is written to before this process is gone. */
function fail(error: unknown): Promise<never> {
  const known = error instanceof AppError;
  const { message, code, hint } = known ? error : { message: String(error), code: "internal", hint: undefined };
  if (!known) logError(error);
  const line = `${JSON.stringify({ failed: { code, message, hint } })}\n`;
  return new Promise(() => process.stdout.write(line, () => process.exit(1)));
}

interface Input {
  first: Promise<string>;
  /** Passes on the lines after the first, also those that have come. */
  rest: (take: (line: string) => void) => void;
  ended: Promise<void>;
}

function readInput(): Input {
  const first = Promise.withResolvers<string>();
  const waiting: string[] = [];
  let isStarted = false;
  let take = (line: string): void => void waiting.push(line);
  const ended = Promise.withResolvers<void>();
  const reader = new LineReader(supervisionLimits.configurationBytes);
  process.stdin.on("data", (chunk: Buffer) => {
    reader.push(chunk);
    try {
      for (let line = reader.next(); line !== undefined; line = reader.next()) {
        if (isStarted) take(line);
        else first.resolve(line);
        isStarted = true;
      }
    } catch (error) {
      first.reject(error);
    }
  });
  process.stdin.on("close", () => {
    first.reject(new AppError("invalid", "this program is started by caisson up"));
    ended.resolve();
  });
  const rest: Input["rest"] = (given) => {
    take = given;
    for (const line of waiting.splice(0)) take(line);
  };
  return { first: first.promise, rest, ended: ended.promise };
}

function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => resolve());
  });
}
