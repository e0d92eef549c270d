// A program that serves MCP as hosted servers do: `stdio`, or `http` on a port of its own, which it prints. Both eras.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import type { ReadableStream } from "node:stream/web";
import { setTimeout as wait } from "node:timers/promises";
import {
  completable,
  createMcpHandler,
  InMemoryServerEventBus,
  isInitializeRequest,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const say = (text: string) => ({ content: [{ type: "text" as const, text }] });
const bus = new InMemoryServerEventBus();
const modernName = process.argv[3] ?? "none";
/** Heads of requests over HTTP that came in. */
const heads: string[][] = [];

function build(): McpServer {
  const server = new McpServer(
    { name: "fixture", version: modernName },
    { capabilities: { logging: {}, resources: { subscribe: true, listChanged: true }, tools: { listChanged: true } } },
  );
  let level = "none";
  const subscribed = new Set<string>();
  let roots = "unknown";
  const tool = <S extends z.ZodObject>(
    name: string,
    inputSchema: S,
    act: (input: z.output<S>, context: ServerContext) => Promise<{ content: { type: "text"; text: string }[] }>,
  ) => server.registerTool(name, { description: `${name} of the fixture`, inputSchema }, act as never);
  const none = z.object({});
  tool("echo", z.object({ text: z.string() }), async ({ text }) => say(text));
  tool("pid", none, async () => say(String(process.pid)));
  tool("fail", none, async () => {
    throw new Error("it failed");
  });
  tool("crash", none, async () => process.exit(1));
  tool("heads", none, async () => say(JSON.stringify(heads.at(-1) ?? [])));
  tool("state", none, async () => say(JSON.stringify({ level, roots, subscribed: [...subscribed] })));
  tool("log", z.object({ text: z.string() }), async ({ text }, { mcpReq }) => {
    await mcpReq.log("info", text);
    return say("logged");
  });
  tool("slow", z.object({ steps: z.number(), stepMs: z.number() }), async ({ steps, stepMs }, { mcpReq }) => {
    const { progressToken } = mcpReq._meta ?? {};
    for (let progress = 1; progress <= steps; progress++) {
      await wait(stepMs, undefined, { signal: mcpReq.signal });
      const params = { progressToken: progressToken ?? "", progress, total: steps };
      if (progressToken !== undefined) await mcpReq.notify({ method: "notifications/progress", params });
    }
    return say("slow is over");
  });
  tool("ask", none, async (_, { mcpReq }) => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } } } as const;
    const params = { mode: "form", message: "your name?", requestedSchema } as const;
    const { action, content } = await mcpReq.send({ method: "elicitation/create", params });
    return say(`${action} ${content?.name}`);
  });
  tool("sample", none, async (_, { mcpReq }) => {
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: "hi" } }];
    const params = { messages, maxTokens: 5, includeContext: "allServers" as const };
    return say(JSON.stringify((await mcpReq.send({ method: "sampling/createMessage", params })).content));
  });
  tool("touch", none, async () => {
    await server.server.sendResourceUpdated({ uri: "test://watched" }).catch(() => undefined);
    bus.publish({ kind: "resource_updated", uri: "test://watched" });
    bus.publish({ kind: "tools_list_changed" });
    server.sendToolListChanged();
    return say("touched");
  });
  tool("mirrored", z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }), async ({ region }) =>
    say(region),
  );
  server.registerResource("watched", "test://watched", {}, async ({ href }) => ({
    contents: [{ uri: href, text: "w" }],
  }));
  server.registerResource(
    "made",
    new ResourceTemplate("test://made/{id}", { list: undefined }),
    {},
    async ({ href }) => ({
      contents: [{ uri: href, text: `made ${href}` }],
    }),
  );
  const argsSchema = z.object({
    city: completable(z.string(), (text) => ["paris", "rome"].filter((c) => c.startsWith(text))),
  });
  server.registerPrompt("greet", { description: "greets", argsSchema }, async ({ city }) => ({
    messages: [{ role: "user", content: { type: "text", text: `hello from ${city}` } }],
  }));
  const { server: low } = server;
  low.setRequestHandler("logging/setLevel", async ({ params }) => {
    level = params.level;
    return {};
  });
  low.setRequestHandler("resources/subscribe", async ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  low.setRequestHandler("resources/unsubscribe", async ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  const readRoots = async () => {
    const { roots: given } = await low.listRoots();
    roots = given.map(({ uri }) => uri).join(" ");
  };
  low.oninitialized = () => {
    if (low.getClientCapabilities()?.roots !== undefined) readRoots().catch(() => undefined);
  };
  low.setNotificationHandler("notifications/roots/list_changed", readRoots);
  return server;
}

function serveHttp(): void {
  const modern = createMcpHandler(build, { legacy: "reject", bus });
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const open = async () => {
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await build().connect(transport);
    return transport;
  };
  const answer = async (from: IncomingMessage, signal: AbortSignal): Promise<Response> => {
    const parsedBody = from.method === "POST" ? await json(from) : undefined;
    const request = new Request(`http://${from.headers.host}${from.url}`, {
      method: from.method ?? "GET",
      headers: Object.entries(from.headers).map(([name, value]) => [name, String(value)] as [string, string]),
      signal,
    });
    if (!(await isLegacyRequest(request, parsedBody))) return modern.fetch(request, { parsedBody });
    const id = request.headers.get("mcp-session-id");
    const transport = id === null && isInitializeRequest(parsedBody) ? await open() : sessions.get(id ?? "");
    return transport?.handleRequest(request, { parsedBody }) ?? new Response("no session", { status: 404 });
  };
  const server = createServer((from, to) => {
    heads.push(from.rawHeaders);
    const gone = new AbortController();
    to.on("close", () => gone.abort());
    answer(from, gone.signal).then(
      ({ status, headers, body }) => {
        to.writeHead(status, { ...Object.fromEntries(headers), "set-cookie": "a=b", location: "http://elsewhere/" });
        if (body === null) to.end();
        else Readable.fromWeb(body as ReadableStream).pipe(to);
      },
      () => to.destroy(),
    );
  });
  server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
}

if (process.argv[2] === "http") serveHttp();
else {
  console.log("a line that is no message");
  serveStdio(build);
}
