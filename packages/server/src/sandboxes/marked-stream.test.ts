import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { contextLimits } from "../core/limits.ts";
import { fullPayloadBytes, MarkedStream, markBytes } from "./marked-stream.ts";

const mark = randomBytes(markBytes);

function frame(kind: string, payload: string | Buffer, size = payload.length): Buffer {
  const header = Buffer.alloc(3);
  header.write(kind);
  header.writeUInt16LE(size, 1);
  return Buffer.concat([mark, header, Buffer.from(payload)]);
}

/** Everything that comes out, with neighbouring output put together. */
function open() {
  const seen: string[] = [];
  const stream = new MarkedStream(mark, {
    output: (chunk) => {
      if (seen.at(-1)?.startsWith("out:")) seen[seen.length - 1] += chunk.toString("latin1");
      else seen.push(`out:${chunk.toString("latin1")}`);
      return undefined;
    },
    frame: (kind, payload) => seen.push(`${kind}:${payload.toString("latin1")}`),
  });
  return { seen, stream };
}

const bytes = Buffer.concat([
  Buffer.from("before"),
  frame("W", "one"),
  frame("S", ""),
  Buffer.from("between"),
  mark.subarray(0, 9), // looks like a mark and is none
  Buffer.from("!"),
  frame("F", "x".repeat(fullPayloadBytes)),
  Buffer.from("after"),
]);
const expected = [
  "out:before",
  "W:one",
  "S:",
  `out:between${mark.subarray(0, 9).toString("latin1")}!`,
  `F:${"x".repeat(fullPayloadBytes)}`,
  "out:after",
];

describe("a stream with marks", () => {
  it.each([1, 2, 7, 15, 16, 17, 19, 100, 4096, bytes.length])("is told apart in pieces of %i bytes", (size) => {
    const { seen, stream } = open();
    for (let at = 0; at < bytes.length; at += size) expect(stream.push(bytes.subarray(at, at + size))).toBeUndefined();
    expect(seen).toEqual(expected);
  });

  it("gives what is left at its end to the user", () => {
    const { seen, stream } = open();
    stream.push(Buffer.concat([Buffer.from("a"), mark.subarray(0, 5)]));
    expect(seen).toEqual(["out:a"]);
    stream.end();
    expect(seen).toEqual([`out:a${mark.subarray(0, 5).toString("latin1")}`]);
  });

  it("refuses a frame that is longer than one write", () => {
    const { stream } = open();
    expect(() => stream.push(frame("W", "", contextLimits.frameBytes))).toThrow("a frame that is too long");
  });

  it("says when a listener is done with its bytes", async () => {
    const gate = Promise.withResolvers<void>();
    const stream = new MarkedStream(mark, { output: () => gate.promise, frame: () => undefined });
    let done = false;
    const wait = stream.push(Buffer.from("held"))?.then(() => {
      done = true;
    });
    await new Promise(setImmediate);
    expect(done).toBe(false);
    gate.resolve();
    await wait;
    expect(done).toBe(true);
  });
});
