import { randomBytes } from "node:crypto";
import { constants } from "node:os";
import type { Archive, UnpackLimits, UnpackOptions } from "../core/archive.ts";
import { AppError, type ErrorCode } from "../core/errors.ts";
import type { Range } from "../core/limits.ts";
import { topFolderOf } from "../core/top-folders.ts";
import type { ExitRecord, Wire } from "../core/wire.ts";
import { inflate } from "../tar/inflate.ts";
import { archiveLimits } from "../tar/limits.ts";
import { sendBody } from "./body.ts";
import { settle } from "./worker-output.ts";

/** Room for headers and padding of tar beside the bytes of its files. */
const blockBytes = 512;

const refusals = new Map<number, ErrorCode>([
  [constants.errno.EBADMSG, "invalid"],
  [constants.errno.EOVERFLOW, "limit_exceeded"],
  [constants.errno.EEXIST, "conflict"],
]);

function within(name: keyof UnpackLimits, wanted: number | undefined): number {
  const range: Range = archiveLimits[name];
  const value = wanted ?? range.default;
  if (!Number.isSafeInteger(value) || value < range.min || value > range.max)
    throw new AppError("invalid", `${name}: ${value} is not between ${range.min} and ${range.max}`);
  return value;
}

function resolveLimits(limits: UnpackLimits): Required<UnpackLimits> {
  return {
    entries: within("entries", limits.entries),
    bytes: within("bytes", limits.bytes),
    depth: within("depth", limits.depth),
    ratio: within("ratio", limits.ratio),
  };
}

/** The worker's own sentence, if it refused the archive. Names in it are hostile. */
function refusal(exit: ExitRecord, said: Buffer, path: string): AppError | undefined {
  const code = exit.startError === null ? undefined : refusals.get(exit.startError);
  if (code === undefined || said.length === 0) return undefined;
  const text = said.toString("latin1").replaceAll(/[^\x20-\x7e]/g, "?");
  return new AppError(code, `${path}: the archive is refused: ${text}`);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Unpacks aside and moves into place, so that a refused archive leaves nothing (S18). */
export async function unpackArchive(wire: Wire, path: string, archive: Archive, options: UnpackOptions): Promise<void> {
  const limits = resolveLimits(options.limits ?? {});
  const aside = `.caisson-unpack-${randomBytes(8).toString("hex")}`;
  const spec = {
    path,
    target: aside,
    count: limits.entries,
    length: limits.bytes,
    depth: limits.depth,
    replace: options.replace ?? false,
  };
  let said: Buffer = Buffer.alloc(0);
  const stream = wire.open("unpack", spec, (channel, chunk) => {
    said = Buffer.concat([said, chunk]).subarray(0, archiveLimits.refusalBytes);
    stream.consumed(channel, chunk.length);
  });
  const inflated = limits.bytes + (limits.entries + 1) * 4 * blockBytes;
  const body = inflate(archive instanceof Uint8Array ? once(archive) : archive, {
    ratio: limits.ratio,
    bytes: inflated,
  });
  const sent = sendBody(stream, body);
  let failure: unknown;
  try {
    // A worker that refuses is not kept waiting by a source that has stopped.
    await Promise.race([sent, stream.exit]);
  } catch (error) {
    failure = error;
    stream.killTree(); // the worker removes what it has unpacked
    stream.end();
  }
  sent.catch(() => undefined);
  const exit = await stream.exit;
  void body.return(undefined).catch(() => undefined); // may wait for the source, which nobody else does
  if (exit.signal !== null) await removeAside(wire, `${topFolderOf(path)}/${aside}`);
  if (failure !== undefined) throw failure;
  const refused = refusal(exit, said, path);
  if (refused !== undefined) throw refused;
  await settle(stream, path);
}

/** A worker that was killed, by the memory limit or by user code, could not clean up. */
async function removeAside(wire: Wire, aside: string): Promise<void> {
  const stream = wire.open("remove", { path: aside, recursive: true }, (channel, chunk) =>
    stream.consumed(channel, chunk.length),
  );
  stream.end();
  await stream.exit;
}
