import { PassThrough } from "node:stream";
import type { Caisson } from "@caisson/sdk";
import { expect, it } from "vitest";
import { parseOptions } from "../options.ts";
import type { RunIo } from "../run.ts";
import type { Verb } from "./verb.ts";
import { lineVerb, quietVerb, tableVerb } from "./verb-kinds.ts";

async function printed(verb: Verb, words: string[], json: boolean): Promise<string> {
  const stdout = new PassThrough();
  const io = { stdout, terminal: { colors: false } } as unknown as RunIo;
  await verb.run({ caisson: {} as Caisson, options: parseOptions([], {}), words, json, io });
  return String(stdout.read());
}

const call = async (_: unknown, ...words: string[]) => ({ words });
const line = lineVerb({ summary: "", usage: "A [B]", call, line: ({ words }) => words.join("+") });
const table = tableVerb({ summary: "", call, headings: ["NAME", "SIZE"], rows: () => [["one", 1]] });
const quiet = quietVerb("", "A B", call);

it("takes as many words as its usage names", () => {
  expect([line, table, quiet].map(({ words }) => words)).toEqual([
    [1, 2],
    [0, 0],
    [2, 2],
  ]);
});

it("prints its line, its table or nothing", async () => {
  expect(await printed(line, ["a", "b"], false)).toBe("a+b\n");
  expect(await printed(table, [], false)).toBe("NAME  SIZE\none   1\n");
  expect(await printed(quiet, ["a", "b"], false)).toBe("null");
});

it("prints with --json what its call returns, and an empty object if that is nothing of interest", async () => {
  expect(JSON.parse(await printed(line, ["a"], true))).toEqual({ words: ["a"] });
  expect(JSON.parse(await printed(table, [], true))).toEqual({ words: [] });
  expect(JSON.parse(await printed(quiet, ["a", "b"], true))).toEqual({});
});
