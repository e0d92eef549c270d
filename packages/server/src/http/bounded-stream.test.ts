import { ReadableStream } from "node:stream/web";
import { describe, expect, it } from "vitest";
import { boundedStream } from "./bounded-stream.ts";

describe("a stream whose writer does not wait", () => {
  it("is cut when nobody reads it, and its writer learns that", async () => {
    const { promise: cancelled, resolve } = Promise.withResolvers<void>();
    let written = 0;
    let timer: NodeJS.Timeout | undefined;
    const source = new ReadableStream({
      start: (controller) => {
        timer = setInterval(() => {
          written += 100;
          controller.enqueue(Buffer.alloc(100));
        });
      },
      cancel: () => {
        clearInterval(timer);
        resolve();
      },
    });
    const stream = boundedStream(source, 1_000);
    await cancelled;
    expect(stream.destroyed).toBe(true);
    expect(written).toBeLessThan(10_000);
  });

  it("brings everything to whoever reads, also one piece that is larger than the limit", async () => {
    const source = ReadableStream.from([Buffer.from("b"), Buffer.alloc(5_000, "a")]);
    let text = "";
    for await (const piece of boundedStream(source, 1_000)) text += piece;
    expect(text).toBe(`b${"a".repeat(5_000)}`);
  });
});
