import type { Readable, Writable } from "node:stream";
import type { Caisson, RpcMessage } from "@caisson/sdk";
import { AppError, messageOf } from "../../core/errors.ts";
import { jsonLimits } from "../../core/json-limits.ts";
import { LineReader } from "../../core/line-reader.ts";
import { parseJson } from "../../core/parse-json.ts";
import { randomId } from "../../lib/random-id.ts";
import { mcpLimits } from "../../mcp-protocol/limits.ts";
import { writeOut } from "../write-out.ts";

export interface BridgeParts {
  caisson: Caisson;
  tools?: readonly string[];
  /** Path of the endpoint of a hosted server. Default: the daemon's own. */
  path?: string;
  stdin: Readable;
  stdout: Writable;
  log: (text: string) => void;
}

/** Carries messages between a client on standard input and output and the daemon. Reads only what routes them. */
export function openBridge({ caisson, tools, path, stdin, stdout, log }: BridgeParts): AsyncDisposable {
  const session = `stdio-${randomId(9, "hex")}`;
  const tell = async (message: RpcMessage) => void (await writeOut(stdout, `${JSON.stringify(message)}\n`));
  const connection = caisson.mcp({
    receive: tell,
    ...(path === undefined ? { session } : { path }),
    ...(tools === undefined ? {} : { tools: tools.join(",") }),
  });
  const reader = new LineReader(mcpLimits.messageBytes);
  let underWay = 0;
  const pass = async (line: string) => {
    const message = readMessage(line);
    if (typeof message === "string") return tell({ jsonrpc: "2.0", id: null, error: { code: -32_700, message } });
    underWay += 1;
    if (underWay >= mcpLimits.underWay) stdin.pause();
    await connection.send(message);
    underWay -= 1;
    stdin.resume();
  };
  const fail = (error: unknown) => {
    log(messageOf(error));
    stdin.destroy();
  };
  stdin.on("data", (chunk: Buffer) => {
    try {
      reader.push(chunk);
      for (let line = reader.next(); line !== undefined; line = reader.next())
        if (line.trim() !== "") pass(line).catch(fail);
    } catch (error) {
      fail(error);
    }
  });
  return {
    [Symbol.asyncDispose]: async () => {
      await connection.close();
      if (path !== undefined) return; // a hosted server has no sandbox of this session
      try {
        for await (const sandbox of caisson.listSandboxes({ session_key: session })) await sandbox.destroy();
      } catch (error) {
        log(`cannot destroy the session's sandbox: ${messageOf(error)}`); // the daemon stops it when it is idle
      }
    },
  };
}

/** A message, or the reason why it is invalid. */
function readMessage(line: string): RpcMessage | string {
  const wrong = "not a JSON-RPC message";
  try {
    const message: unknown = parseJson(line, jsonLimits.data);
    const isObject = typeof message === "object" && message !== null && !Array.isArray(message);
    return isObject && "jsonrpc" in message ? (message as RpcMessage) : wrong;
  } catch (error) {
    return error instanceof AppError ? error.message : wrong;
  }
}
