import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { AppError } from "../core/errors.ts";
import { streamed } from "./live-stream.ts";
import { report } from "./problem.ts";

function openCall() {
  const reported: unknown[] = [];
  const onError = (error: unknown) => void reported.push(error);
  const call = {
    requestId: "r1",
    openStream: () => () => undefined,
    report: (error: unknown) => report(error, onError),
  };
  return { call, reported };
}

it("ends a stream with what went wrong, and tells whoever runs the place what nobody foresaw", async () => {
  const { call, reported } = openCall();
  const mistake = new Error("a mistake of the server's");
  const { stream } = await streamed(call, "ndjson", async (begin) => {
    begin().send("stdout", { data: "x" });
    throw mistake;
  });
  const lines = (await text(stream as Readable))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([{ type: "stdout" }, { type: "error", code: "internal", request_id: "r1" }]);
  expect(JSON.stringify(lines)).not.toContain("mistake");
  expect(reported).toEqual([mistake]);
});

it("ends a stream with a refusal, of which nobody else is told", async () => {
  const { call, reported } = openCall();
  const { stream } = await streamed(call, "ndjson", async (begin) => {
    begin();
    throw new AppError("conflict", "the file changed");
  });
  expect(JSON.parse(await text(stream as Readable))).toMatchObject({
    type: "error",
    code: "conflict",
    detail: "the file changed",
  });
  expect(reported).toEqual([]);
});
