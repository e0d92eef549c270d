import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ChunkQueue } from "./chunk-queue.ts";

describe("pieces that wait", () => {
  it("come out in order, whatever their sizes and whenever they are taken", () => {
    const steps = fc.array(fc.oneof(fc.constant("take" as const), fc.integer({ min: 1, max: 40_000 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(steps, (list) => {
        const queue = new ChunkQueue();
        const pushed: Buffer[] = [];
        const taken: Buffer[] = [];
        for (const [i, step] of list.entries()) {
          if (step === "take") taken.push(queue.shift() ?? Buffer.alloc(0));
          else {
            const chunk = Buffer.alloc(step, i + 1);
            pushed.push(chunk);
            queue.push(chunk);
          }
        }
        for (let chunk = queue.shift(); chunk !== undefined; chunk = queue.shift()) taken.push(chunk);
        expect(Buffer.concat(taken)).toEqual(Buffer.concat(pushed));
      }),
    );
  });

  it("are gathered when they are small", () => {
    const queue = new ChunkQueue();
    for (let i = 0; i < 100_000; i++) queue.push(Buffer.from("x"));
    let count = 0;
    while (queue.shift() !== undefined) count++;
    expect(count).toBeLessThan(10);
  });
});
