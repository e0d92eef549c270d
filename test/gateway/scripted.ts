import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { duplexPair, PassThrough } from "node:stream";
import { json } from "node:stream/consumers";
import type { Start } from "./test-pool.ts";

export interface Line {
  jsonrpc?: string;
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

type Params = Record<string, unknown>;
type Write = (line: string | Buffer | Line) => void;

/** A server over stdio that does what the test says with each message; `initialize` it answers by itself. */
export function scripted(
  act: (message: Line, write: Write, raw: string) => void,
  hello: () => object = () => welcome,
): Start {
  return async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const write: Write = (line) =>
      void output.write(typeof line === "string" || Buffer.isBuffer(line) ? line : `${JSON.stringify(line)}\n`);
    let text = "";
    input.on("data", (part) => {
      text += part;
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const raw of lines) {
        const message: Line = JSON.parse(raw);
        if (message.method === "initialize") write({ jsonrpc: "2.0", id: message.id, result: hello() as Params });
        else act(message, write, raw);
      }
    });
    const stop = () => {
      input.destroy();
      output.destroy();
    };
    return { carrier: { kind: "stdio", input, output }, stop };
  };
}

export const welcome = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: { listChanged: true }, logging: {}, resources: { subscribe: true } },
  serverInfo: { name: "scripted", version: "1" },
};

export const done = (id: unknown, text = "done"): Line => ({
  jsonrpc: "2.0",
  id,
  result: { content: [{ type: "text", text }] },
});

/** A server over HTTP, on connections that never leave the test; `initialize` it answers by itself. */
export function scriptedHttp(
  act: (message: Line, response: ServerResponse, request: IncomingMessage) => void,
  opened: Record<string, string> = { "mcp-session-id": "upstream-session" },
): Start {
  return async () => {
    const server = createServer(async (request, response) => {
      if (request.method !== "POST") return void response.writeHead(request.method === "DELETE" ? 200 : 405).end();
      const message = (await json(request)) as Line;
      if (message.id === undefined) return void response.writeHead(202).end();
      if (message.method !== "initialize") return act(message, response, request);
      response.writeHead(200, { "content-type": "application/json", ...opened });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: welcome }));
    });
    const dial = async () => {
      const [near, far] = duplexPair();
      server.emit("connection", far);
      far.on("error", () => undefined);
      return near;
    };
    return { carrier: { kind: "http", dial, host: "hosted" }, stop: () => void server.closeAllConnections() };
  };
}
