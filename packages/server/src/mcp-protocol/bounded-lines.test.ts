import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { jsonLimits } from "../core/json-limits.ts";
import { boundedLines } from "./bounded-lines.ts";
import { mcpLimits } from "./limits.ts";

it("[S84] a message over standard input that would keep a parser busy is refused, and the next one passes", async () => {
  const input = new PassThrough();
  const whys: string[] = [];
  using lines = boundedLines(input, (why) => void whys.push(why));
  const told = text(lines);
  const crowd = `[${"1,".repeat(jsonLimits.data.values)}1]`;
  for (const part of ['{"a":', "1}\n", crowd, "\n", `"${"x".repeat(1_000_000)}"\n`, "no json\n"]) input.write(part);
  input.end();
  expect((await told).split("\n").map((line) => line.slice(0, 8))).toEqual(['{"a":1}', '"xxxxxxx', "no json", ""]);
  expect(whys).toEqual([`more than ${jsonLimits.data.values} values and names`]);
});

it("a message over standard input without an end ends it", async () => {
  const input = new PassThrough();
  using lines = boundedLines(input, () => undefined);
  const told = text(lines);
  input.write("x".repeat(mcpLimits.messageBytes + 1));
  await expect(told).rejects.toThrow(`limit: ${mcpLimits.messageBytes} bytes`);
});
