import { AppError } from "../core/errors.ts";
import type { HostHand } from "../core/host-access.ts";
import type { Redactor } from "../core/redaction.ts";
import { hostLimits } from "./limits.ts";

/** A file of the host from its beginning to its end, as long as it stays the same; its size is known before its first byte. */
export async function readPieces(
  hand: Pick<HostHand, "read">,
  path: string,
  redactors: readonly Redactor[],
): Promise<{ sizeBytes: number; pieces: AsyncIterable<Buffer> }> {
  const length = hostLimits.pieceBytes;
  const first = await hand.read(path, { offset: 0, length });
  const { sizeBytes, version } = first;
  if (sizeBytes > hostLimits.copyBytes)
    throw new AppError(
      "too_large",
      `${path} is too large to copy: ${sizeBytes} bytes (limit: ${hostLimits.copyBytes})`,
    );
  async function* raw(): AsyncGenerator<Buffer> {
    yield first.bytes;
    for (let offset = first.bytes.length; offset < sizeBytes; ) {
      const piece = await hand.read(path, { offset, length });
      if (piece.version !== version || piece.bytes.length === 0)
        throw new AppError("conflict", `${path} changed while it was read`, { hint: "try again" });
      yield piece.bytes;
      offset += piece.bytes.length;
    }
  }
  return { sizeBytes, pieces: redactors.reduce<AsyncIterable<Buffer>>(filled, raw()) };
}

/** Of the same length, so that what was said of the size holds. */
async function* filled(pieces: AsyncIterable<Buffer>, redactor: Redactor): AsyncGenerator<Buffer> {
  const stream = redactor.stream("fill");
  for await (const piece of pieces) yield* stream.push(piece);
  yield* stream.end();
}
