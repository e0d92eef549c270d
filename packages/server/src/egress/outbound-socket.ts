import { Socket } from "node:net";
import { wireLimits } from "../core/limits.ts";

/** As much as fills frames. Of all sockets: what is read is taken before the next read. */
const incoming = Buffer.allocUnsafeSlow(
  wireLimits.bulkFrames * (wireLimits.toGuestFrameBytes - wireLimits.headerBytes),
);

/** A connection to the world that waits, once connected, to be resumed. What it reads into is not its own, nor its reader's. */
export class OutboundSocket extends Socket {
  /** Gets what came, before the next read. It is looked at when that returns, and never again. */
  receive: (chunk: Buffer) => void = () => undefined;

  constructor() {
    super({
      allowHalfOpen: true,
      onread: {
        buffer: incoming,
        callback: (size) => {
          this.receive(incoming.subarray(0, size));
          return true;
        },
      },
    });
    this.pause();
  }
}
