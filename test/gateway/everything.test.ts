import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installed } from "../python-tool.ts";
import { callText, connectTo, eventually, type GatewayTest, openGateway } from "./fixture.ts";
import { hosted, httpProgramWithPort, stdioProgram } from "./test-pool.ts";

const version = "2026.8.31";
const folder = await installed(`server-everything-${version}`, async (prefix) => {
  const quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
  const argv = ["install", "--prefix", prefix, ...quiet, `@modelcontextprotocol/server-everything@${version}`];
  await promisify(execFile)("npm", argv, { timeout: 240_000 });
});
const program = join(folder ?? "", "node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const overStdio = hosted("legacy", "stdio", stdioProgram(program, "stdio"));
const overHttp = hosted("legacy", "http", httpProgramWithPort(program, "streamableHttp"));
const left = folder === undefined ? " (left out: its registry cannot be reached)" : "";

describe.runIf(folder)(`server-everything of npm behind the gateway${left}`, () => {
  let at: GatewayTest;
  let token: string;
  beforeAll(async () => {
    at = await openGateway([overStdio, overHttp]);
    token = await at.token();
  });
  afterAll(async () => {
    await at[Symbol.asyncDispose]();
    expect(at.server.errors).toEqual([]);
  });

  it.each([overStdio, overHttp])("[HOS-04] serves all of its features over $contact.transport", async (of) => {
    const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
    const logged: unknown[] = [];
    const client = await connectTo(at.url(of), token, "legacy", capabilities, (made) => {
      const sampled = { model: "m", role: "assistant", content: { type: "text", text: "sampled" } } as const;
      made.setRequestHandler("sampling/createMessage", async () => sampled);
      made.setRequestHandler("elicitation/create", async () => ({ action: "decline" }));
      made.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///mine", name: "mine" }] }));
      made.setNotificationHandler("notifications/message", ({ params }) => void logged.push(params));
    });
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    await eventually(async () => (await names()).length).toBe(17);
    expect(await callText(client, "echo", { message: "hi" })).toContain("hi");
    expect(await callText(client, "trigger-sampling-request", { prompt: "p", maxTokens: 5 })).toContain("sampled");
    expect(await callText(client, "trigger-elicitation-request")).toContain("decline");
    await eventually(() => callText(client, "get-roots-list")).toContain("file:///mine");
    const progress: number[] = [];
    await client.callTool(
      { name: "trigger-long-running-operation", arguments: { duration: 0.2, steps: 2 } },
      { onprogress: (told) => void progress.push(told.progress) },
    );
    expect(progress).toEqual([1, 2]);
    expect((await client.listResources()).resources.length).toBeGreaterThanOrEqual(7);
    const dynamic = await client.readResource({ uri: "demo://resource/dynamic/text/1" });
    expect(dynamic.contents).toMatchObject([{ uri: "demo://resource/dynamic/text/1" }]);
    const ref = { type: "ref/prompt", name: "completable-prompt" } as const;
    const { completion } = await client.complete({ ref, argument: { name: "department", value: "E" } });
    expect(completion.values).toEqual(["Engineering"]);
    await client.setLoggingLevel("debug");
    await callText(client, "toggle-simulated-logging");
    await eventually(() => logged.length).toBeGreaterThan(0);
    await client.close();
  });

  it("[HOS-04] lists by what each client declares: clients that declare less have an instance of their own", async () => {
    const client = await connectTo(at.url(overStdio), token, "legacy");
    expect((await client.listTools()).tools).toHaveLength(13);
    await client.close();
  });

  it("[HOS-04] serves a client of SDK 1.x", async () => {
    const client = new OlderClient({ name: "older", version: "1" });
    const requestInit = { headers: { "X-API-Key": token } };
    const transport = new OlderTransport(at.url(overStdio), { requestInit });
    await client.connect(transport as Transport);
    const { content } = await client.callTool({ name: "get-sum", arguments: { a: 40, b: 2 } });
    expect(JSON.stringify(content)).toContain("42");
    await transport.terminateSession();
    await client.close();
  });
});
