import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { writeOut } from "./write-out.ts";

it("says that a piece was taken, once it was", async () => {
  const stream = new PassThrough({ highWaterMark: 1 });
  const taken = writeOut(stream, "ab");
  expect(stream.read()).toEqual(Buffer.from("ab"));
  expect(await taken).toBe(true);
});

it("says that nobody reads any more", async () => {
  const stream = new PassThrough().on("error", () => undefined);
  stream.destroy();
  expect(await writeOut(stream, "ab")).toBe(false);
});
