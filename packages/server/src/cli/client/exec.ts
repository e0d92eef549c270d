import { isUtf8 } from "node:buffer";
import type { RunMessage, RunOptions } from "@caisson/sdk";
import { AppError } from "../../core/errors.ts";
import { sandboxLimits } from "../../core/limits.ts";
import { defined } from "../../lib/defined.ts";
import { exitCodes } from "../exit-codes.ts";
import { explain, runLimitNames } from "../explain.ts";
import { namedValues } from "../named-values.ts";
import type { OptionSpecs, ParsedOptions } from "../options.ts";
import { exitCodeOfResult, passOn, type RunIo } from "../run.ts";
import { tellJson } from "./tell.ts";
import type { Verb } from "./verb.ts";

const execOptions = {
  cwd: { type: "string", value: "PATH", help: "working directory (default: /workspace)" },
  env: { type: "string", multiple: true, value: "NAME=VALUE", help: "set an environment variable" },
  timeout: { type: "string", short: "t", value: "SECONDS", help: "wall-clock limit; 0 disables it" },
  "allow-domain": {
    type: "string",
    multiple: true,
    value: "RULE",
    help: "allow connections to a domain during this run",
  },
  language: {
    type: "string",
    short: "l",
    value: "NAME",
    help: "run COMMAND as code in this language: python, node or shell",
  },
  input: { type: "boolean", short: "i", help: "pass standard input to the program; reads it to the end first" },
} as const satisfies OptionSpecs;

async function readOptions(options: ParsedOptions, io: RunIo): Promise<RunOptions> {
  return defined({
    cwd: options.text("cwd"),
    timeout_seconds: options.number("timeout"),
    env: namedValues(options.texts("env"), "env"),
    allowed_domains: options.texts("allow-domain").length === 0 ? undefined : options.texts("allow-domain"),
    ...(options.flag("input") ? inputOf(await readAll(io.stdin)) : {}),
  });
}

/** Text goes as text, which a question to a human shows as it is. */
function inputOf(bytes: Buffer): Pick<RunOptions, "stdin" | "stdin_base64"> {
  return isUtf8(bytes) ? { stdin: bytes.toString() } : { stdin_base64: bytes.toString("base64") };
}

async function readAll(input: NodeJS.ReadStream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of input) {
    size += piece.length;
    if (size > sandboxLimits.codeBytes)
      throw new AppError("too_large", `standard input is larger than ${sandboxLimits.codeBytes} bytes`, {
        hint: "caisson cp copies files of any size into the sandbox",
      });
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

const limitNames = { ...runLimitNames, cpu_time: "the run's limit", memory: "the sandbox's limit" };

/** Hands output on as it comes. Ctrl-C leaves the stream, which ends the run. */
async function follow(messages: AsyncIterable<RunMessage>, io: RunIo, stop: AbortController): Promise<number> {
  const pass = passOn(io);
  const interrupt = () => stop.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  try {
    for await (const message of messages) {
      if (message.type === "result") {
        explain(io, message, limitNames);
        return exitCodeOfResult(message);
      }
      await pass(message.type, Buffer.from(message.data));
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    return exitCodes.interrupted;
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
  throw new AppError("unavailable", "the run ended without a result");
}

const exec: Verb = {
  summary: "run a command in a sandbox, with its output and exit code",
  usage: "SANDBOX COMMAND [ARGS…]",
  about:
    "A COMMAND of one word runs in a shell; more words are a program and its arguments. Options go before SANDBOX.",
  words: [2, sandboxLimits.arguments],
  options: execOptions,
  run: async ({ caisson, options, words, io, json }) => {
    const [id = "", ...command] = words;
    const sandbox = await caisson.getSandbox(id);
    const stop = new AbortController();
    const asked = { ...(await readOptions(options, io)), signal: stop.signal };
    const language = options.text("language") as "python" | undefined;
    const one = command.length === 1 ? (command[0] ?? "") : command;
    if (language !== undefined) {
      const code = command.join(" ");
      if (json) return tellJson(io, await sandbox.executeCode(language, code, asked));
      return follow(sandbox.executeCodeStream(language, code, asked), io, stop);
    }
    if (json) return tellJson(io, await sandbox.exec(one, asked));
    return follow(sandbox.execStream(one, asked), io, stop);
  },
};

export const execVerbs: Record<string, Verb> = { exec };
