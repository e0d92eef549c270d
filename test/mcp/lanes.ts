import { PassThrough } from "node:stream";
import type { Client } from "@modelcontextprotocol/client";
import { ApiError, Caisson } from "../../packages/sdk/src/index.ts";
import { askDaemon } from "../../packages/server/src/cli/client/client.ts";
import type { RunIo } from "../../packages/server/src/cli/run.ts";
import { loadConfiguration } from "../../packages/server/src/config/config.ts";
import { readEnvironment } from "../../packages/server/src/config/env.ts";
import { AppError } from "../../packages/server/src/core/errors.ts";
import { refusalOf } from "./results.ts";

/** One way to call a tool. A refusal is a result too. */
export type Lane = (tool: string, input: Record<string, unknown>) => Promise<unknown>;

export function mcpLane(client: Client): Lane {
  return async (name, input) => {
    const called = await client.callTool({ name, arguments: input });
    if (called.isError !== true) return called.structuredContent;
    const { error, message } = refusalOf(called);
    return { error, message };
  };
}

export function sdkLane(url: string, key: string): Lane {
  const caisson = new Caisson({ url, key });
  return async (tool, input) => {
    try {
      return (await caisson.tools.call(tool, input)).result;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { error: error.code, message: error.message };
    }
  };
}

/** The command line as a user types it, up to the process around it. */
export async function commandLine(url: string, key: string, home: string, words: readonly string[]): Promise<unknown> {
  const environment = readEnvironment({ CAISSON_URL: url, CAISSON_API_KEY: key, CAISSON_HOME: home });
  const out = new PassThrough();
  const text = out.toArray();
  const io = { stdin: process.stdin, stdout: out, stderr: out, terminal: { color: false } } as unknown as RunIo;
  try {
    await askDaemon(words, environment, () => loadConfiguration({ environment }), io);
    out.end();
    return JSON.parse(Buffer.concat(await text).toString());
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { error: error.code, message: error.message };
  } finally {
    out.destroy();
    await text.catch(() => undefined);
  }
}

export function cliLane(url: string, key: string, home: string): Lane {
  return (tool, input) => {
    const given = Object.entries(input).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    return commandLine(url, key, home, ["tool", tool, ...given]);
  };
}

/** `a 'b c'` as a shell would split it. */
export function splitWords(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|\S+/g)].map(([word, double, single]) => double ?? single ?? word);
}
