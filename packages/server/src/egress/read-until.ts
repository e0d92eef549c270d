import type { Duplex } from "node:stream";

/** `used`: bytes that are not left for the next reader. */
export type Read<T> = { value: T; used: number } | "more" | "refused";

/** Reads the beginning of a connection, and puts the rest back. Undefined when it is refused, ends, or takes too long. */
export function readUntil<T>(
  stream: Duplex,
  timeoutMs: number,
  parse: (bytes: Buffer) => Read<T>,
): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<T | undefined>();
  let gathered = Buffer.alloc(0);
  const finish = (value: T | undefined) => {
    clearTimeout(timer);
    stream.off("readable", look).off("end", end).off("close", end);
    resolve(value);
  };
  const end = () => finish(undefined);
  const timer = setTimeout(end, timeoutMs);
  const look = () => {
    const chunk: Buffer | null = stream.read();
    if (chunk === null) return;
    gathered = Buffer.concat([gathered, chunk]);
    const read = parse(gathered);
    if (read === "more") return;
    if (read === "refused") return finish(undefined);
    if (read.used < gathered.length) stream.unshift(gathered.subarray(read.used));
    finish(read.value);
  };
  stream.on("readable", look).once("end", end).once("close", end);
  stream.on("error", () => undefined);
  if (stream.destroyed || stream.readableEnded) end();
  else look();
  return promise;
}
