import type { ReadOptions } from "../core/file.ts";
import type { Redactor } from "../core/redaction.ts";

/**
 * A part of a file without the values that must not leave. Filled, so that sizes and offsets hold; and read with what
 * stands around it, so that no value comes out in parts.
 */
export async function* cleanRange(
  redactor: Redactor,
  { offset = 0, length = 0 }: ReadOptions,
  read: (range: ReadOptions) => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  const reach = redactor.reachBytes;
  if (reach === 0) return yield* read({ offset, length });
  const from = Math.max(0, offset - reach);
  const end = length === 0 ? Number.POSITIVE_INFINITY : offset + length;
  const stream = redactor.stream("fill");
  let at = from;
  const wanted = (pieces: Buffer[]) =>
    pieces.map((piece) => {
      const start = at;
      at += piece.length;
      return piece.subarray(Math.max(0, offset - start), Math.max(0, end - start));
    });
  for await (const chunk of read({ offset: from, length: length === 0 ? 0 : end + reach - from }))
    for (const piece of wanted(stream.push(chunk))) if (piece.length > 0) yield piece;
  for (const piece of wanted(stream.end())) if (piece.length > 0) yield piece;
}
