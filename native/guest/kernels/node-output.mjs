import { writeSync } from "node:fs";
import process from "node:process";
import { Writable } from "node:stream";

const { from: bytesFrom } = Buffer;
const pause = new Int32Array(new SharedArrayBuffer(4));

export function writeAll(fd, data) {
  for (let at = 0; at < data.length; ) {
    try {
      at += writeSync(fd, data, at, data.length - at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(pause, 0, 0, 1); // a child has made the pipe non-blocking
    }
  }
}

/** Writes at once and keeps no state: an interrupt may come in the middle of a write. */
export class Output extends Writable {
  constructor(fd) {
    super();
    this.fd = fd;
  }

  write(chunk, encoding, done) {
    const callback = typeof encoding === "function" ? encoding : done;
    writeAll(
      this.fd,
      typeof chunk === "string" ? bytesFrom(chunk, typeof encoding === "string" ? encoding : "utf8") : chunk,
    );
    callback?.(); // not later: an interrupt in a tick's callback leaves Node's books in disorder
    return true;
  }

  end(chunk, encoding, done) {
    if (chunk !== undefined && chunk !== null && typeof chunk !== "function") this.write(chunk, encoding);
    const callback = [chunk, encoding, done].find((value) => typeof value === "function");
    if (callback) process.nextTick(callback);
    return this;
  }
}
