import type { Wire } from "../core/wire.ts";
import { archiveLimits } from "../tar/limits.ts";
import { sendBody } from "./body.ts";
import { snapshotLimits } from "./snapshot-limits.ts";
import { settle } from "./worker-output.ts";

/**
 * Sends an archive of our own making to a worker with the user's rights. The worker refuses it before it removes anything
 * where fewer bytes are free than are needed; what fails later leaves the workspace in between.
 */
export async function restoreWorkspace(
  wire: Wire,
  archive: AsyncIterable<Uint8Array>,
  neededBytes: number,
): Promise<void> {
  let said: Buffer = Buffer.alloc(0);
  const spec = { path: "", depth: snapshotLimits.depth, exact: true, length: neededBytes };
  const stream = wire.open("restore", spec, (channel, chunk) => {
    said = Buffer.concat([said, chunk]).subarray(0, archiveLimits.refusalBytes);
    stream.consumed(channel, chunk.length);
  });
  const sent = sendBody(stream, archive);
  sent.catch(() => undefined);
  try {
    await Promise.race([sent, stream.exit]); // a worker that fails does not wait for the rest
  } catch (error) {
    stream.killTree();
    stream.end();
    await stream.exit.catch(() => undefined);
    throw error;
  }
  await stream.exit;
  await settle(stream, said.toString("latin1").replaceAll(/[^\x20-\x7e]/g, "?") || "/workspace");
}
