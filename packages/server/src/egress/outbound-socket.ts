import { Socket } from "node:net";
import { wireLimits } from "../wire/limits.ts";
import { gateLimits } from "./gate-limits.ts";

/** As much as fills frames. Of all sockets: what is read is taken before the next read. */
const large = Buffer.allocUnsafeSlow(wireLimits.pieceFrames * (wireLimits.toGuestFrameBytes - wireLimits.headerBytes));
const small = large.subarray(0, gateLimits.bufferBytes);

/**
 * A connection to the world that waits, once connected, to be resumed. What it reads into is not its own, nor its reader's.
 * Much is read at once only where much came and none of it had to be kept, so that few connections ever keep much.
 */
export class OutboundSocket extends Socket {
  /** Gets what came, and says whether none of it was kept. The chunk is not looked at later. */
  receive: (chunk: Buffer) => boolean = () => true;

  constructor() {
    let next = small;
    super({
      allowHalfOpen: true,
      onread: {
        buffer: () => next,
        callback: (size) => {
          const isGone = this.receive(large.subarray(0, size));
          next = isGone && size >= small.length ? large : small;
          return true;
        },
      },
    });
    this.pause();
  }
}
