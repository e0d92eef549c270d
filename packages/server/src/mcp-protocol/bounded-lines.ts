import { type Readable, Transform } from "node:stream";
import { jsonLimits } from "../core/json-limits.ts";
import { LineReader } from "../core/line-reader.ts";
import { JsonScan } from "../lib/json-scan.ts";
import { mcpLimits } from "./limits.ts";

/** Passes each line of JSON on whole, but none that would keep a parser busy for long (S84): `refuse` gets the reason. */
export function boundedLines(input: Readable, refuse: (why: string) => void): Readable & Disposable {
  const reader = new LineReader(mcpLimits.messageBytes);
  const lines = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        reader.push(chunk);
        for (let line = reader.next(); line !== undefined; line = reader.next()) {
          const why = new JsonScan(jsonLimits.data).push(Buffer.from(line));
          if (why === undefined) this.push(`${line}\n`);
          else refuse(why);
        }
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
  const end = (error?: Error | null) => void lines.destroy(error ?? undefined);
  input.pipe(lines);
  input.once("error", end).once("close", () => input.readableEnded || end());
  const dispose = () => {
    input.unpipe(lines);
    input.pause();
  };
  return Object.assign(lines, { [Symbol.dispose]: dispose });
}
