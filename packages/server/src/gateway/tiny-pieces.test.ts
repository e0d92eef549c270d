import type { IncomingMessage } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { LineReader } from "../core/line-reader.ts";
import { ByteLines } from "./byte-lines.ts";
import { readWhole } from "./http-answer.ts";
import { SseReader } from "./sse-reader.ts";

const MiB = 1024 ** 2;
const pieces = 500_000;
const one = () => Buffer.from("x");

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** Memory that `holder` keeps once `feed` is done. */
function keptBy(holder: object, feed: () => void): number {
  collect();
  const before = process.memoryUsage();
  feed();
  collect();
  const after = process.memoryUsage();
  expect(holder).toBeDefined();
  return after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
}

describe("[S133] a message that comes in the smallest pieces takes no more memory than its size:", () => {
  it("a line", () => {
    for (const lines of [new ByteLines(MiB), new LineReader(MiB)]) {
      const feed = () => {
        for (let at = 0; at < pieces; at++) {
          const some = lines.push(one());
          if (some !== undefined) for (const line of some) expect(line).toBeUndefined();
          else (lines as LineReader).next();
        }
      };
      expect(keptBy(lines, feed)).toBeLessThan(8 * MiB);
    }
  });

  it("an event of many lines", () => {
    const reader = new SseReader();
    const chunk = Buffer.from("data:\n".repeat(1_000));
    const feed = () => {
      for (let at = 0; at < pieces; at += 1_000) for (const event of reader.push(chunk)) expect(event).toBeUndefined();
    };
    expect(keptBy(reader, feed)).toBeLessThan(8 * MiB);
    expect([...reader.push(Buffer.from("data: x\n\n"))].map(({ data }) => data.length)).toEqual([pieces + 1]);
  });

  it("an answer", async () => {
    let most = 0;
    const answer = async function* () {
      collect();
      const before = process.memoryUsage();
      for (let at = 0; at < pieces; at++) yield one();
      collect();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      most = heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers;
    };
    expect((await readWhole(answer() as unknown as IncomingMessage)).length).toBe(pieces);
    expect(most).toBeLessThan(8 * MiB);
  });
});
