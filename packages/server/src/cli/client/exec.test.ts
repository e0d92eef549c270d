import { PassThrough } from "node:stream";
import type { Caisson } from "@caisson/sdk";
import { expect, it } from "vitest";
import { defined } from "../../lib/defined.ts";
import { parseOptions } from "../options.ts";
import type { RunIo } from "../run.ts";
import { execVerbs } from "./exec.ts";

it.each([
  ["text", Buffer.from("é\n"), { stdin: "é\n" }],
  ["bytes", Buffer.from([0, 255, 10]), { stdin_base64: "AP8K" }],
])("[EXE-01] caisson exec --input sends %s as they are", async (_, typed, sent) => {
  const asked: object[] = [];
  const exec = async (_command: unknown, options: object) => ({ sent: asked.push(options) });
  const caisson = { getSandbox: async () => ({ exec }) } as unknown as Caisson;
  const stdin = new PassThrough().end(typed);
  const io = { stdin, stdout: new PassThrough() } as unknown as RunIo;
  const options = parseOptions(["--input"], execVerbs.exec?.options ?? {});
  await execVerbs.exec?.run({ caisson, options, words: ["id", "cat"], json: true, io });
  const [{ stdin: text, stdin_base64: bytes } = {}] = asked as { stdin?: string; stdin_base64?: string }[];
  expect(defined({ stdin: text, stdin_base64: bytes })).toEqual(sent);
});
