import type { Readable, Writable } from "node:stream";
import { type JSONRPCMessage, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Caller } from "../core/principal.ts";
import { boundedLines } from "../mcp-protocol/bounded-lines.ts";
import type { Changes } from "../mcp-protocol/changes.ts";
import { type Follow, followChanges, takeSubscriptions } from "../mcp-protocol/follow-changes.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { readListen } from "../mcp-protocol/listen.ts";
import type { ToolSet } from "../tools/tool.ts";
import { buildServer, type ServerParts } from "./server.ts";

export interface StdioClient {
  caller: Caller;
  session: string;
  sets: readonly ToolSet[];
  stdin: Readable;
  stdout: Writable;
  onError: (error: unknown) => void;
}

/** Serves the one client that a pair of streams leads to, in the era that it opens with. */
export function serveClient(
  parts: ServerParts & { changes: Changes; follow: Follow },
  client: StdioClient,
): AsyncDisposable {
  const { caller, session, sets, stdin, stdout, onError } = client;
  const { changes, follow } = parts;
  const opened = new AsyncDisposableStack();
  const lines = opened.use(boundedLines(stdin, (why) => void stdout.write(`${refusalOf(why)}\n`)));
  const transport = new StdioServerTransport(lines, stdout, { maxBufferSize: 2 * mcpLimits.messageBytes });
  const handle = serveStdio(
    ({ era }) => {
      const server = buildServer(parts, { caller: () => caller, session, sets });
      const subscriptions = opened.use(takeSubscriptions(server, caller, follow));
      // What a client of 2026-07-28 listens for is known to the library alone, which leaves out the rest.
      const wants = (uri: string) => era === "modern" || subscriptions.has(uri);
      opened.defer(followChanges(server, changes, caller.principal.namespace, wants));
      return server;
    },
    { transport, maxSubscriptions: mcpLimits.subscriptionsPerSession, onerror: onError },
  );
  opened.defer(() => handle.close());
  followListens(transport, (message) => readListen(message, caller, follow), onError);
  return opened;
}

/** JSON-RPC 2.0, section 5: of a message whose id nobody reads. */
function refusalOf(why: string): string {
  const error = { code: ProtocolErrorCode.InvalidRequest, message: `the message has ${why}` };
  return JSON.stringify({ jsonrpc: "2.0", id: null, error });
}

type Listen = Awaited<ReturnType<typeof readListen>>;

/** Resources are watched for as long as a client of 2026-07-28 listens for them. */
function followListens(
  transport: StdioServerTransport,
  read: (message: JSONRPCMessage) => Promise<Listen>,
  onError: (error: unknown) => void,
): void {
  const ends = new Map<unknown, () => void>();
  const deliver = transport.onmessage;
  const listen = async (message: JSONRPCMessage & { id?: unknown }) => {
    const { body, end } = await read(message);
    ends.get(message.id)?.();
    ends.set(message.id, end);
    deliver?.(body as JSONRPCMessage);
  };
  transport.onmessage = (message) => {
    const method = "method" in message ? message.method : undefined;
    if (method === "subscriptions/listen") return void listen(message).catch(onError);
    if (method === "notifications/cancelled") {
      const { requestId } = (message as { params?: { requestId?: unknown } }).params ?? {};
      ends.get(requestId)?.();
      ends.delete(requestId);
    }
    deliver?.(message);
  };
}
