import type { WireStream } from "../core/wire.ts";
import { refusal } from "./awaited-stream.ts";

/** Resolves when a file lies in the sandbox's /run, or is gone from there. */
export async function placed(stream: WireStream, path: string, bytes: Buffer | null): Promise<void> {
  if (bytes !== null) await stream.write(bytes);
  stream.end();
  const { startError, signal } = await stream.exit;
  if (startError !== null || signal !== null) throw refusal(`/run/${path} cannot be placed`, startError ?? 0);
}
