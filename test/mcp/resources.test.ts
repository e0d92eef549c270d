import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { toolLimits } from "../../packages/server/src/tools/limits.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient, eras } from "./client.ts";

const [engine = "container"] = engines;

/** 1 pixel. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const code = `
import base64, os
os.makedirs('output/a b', exist_ok=True)
open('output/a b/ünï.txt', 'w').write('text')
open('output/dot.png', 'wb').write(base64.b64decode('${png}'))
open('large', 'w').truncate(${toolLimits.resourceBytes + 1})
open('told', 'w').write('mine')
`;

describe("resources and prompts", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  async function read(client: Client, uri: string) {
    const { contents } = await client.readResource({ uri });
    const [content] = contents;
    if (content === undefined || !("text" in content)) throw new Error(`${uri} is no text`);
    return JSON.parse(content.text);
  }

  describe.each(eras)("to a client of %s", (era) => {
    let client: Client;
    let session: string;
    beforeAll(async () => {
      client = await connectClient(server, era);
    });
    afterAll(() => client.close());

    it("[MCP-04] say what is there before anything was run, and make nothing by being read", async () => {
      const { resources } = await client.listResources();
      const fixed = resources.map(({ uri }) => uri).filter((uri) => uri.startsWith("sandbox:"));
      expect(fixed).toEqual(["sandbox://status", "sandbox://logs", "sandbox://schemas"]);
      expect(await read(client, "sandbox://status")).toMatchObject({ namespace: "default", snapshots: 0 });
      expect(Object.keys((await read(client, "sandbox://schemas")).schemas)).toEqual(["config", "user", "dataset"]);
      const { resourceTemplates } = await client.listResourceTemplates();
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["caisson://{session}/{+path}"]);
    });

    it("[MCP-04] list the files of the session, and give each as text or bytes with its type", async () => {
      const { structuredContent } = await client.callTool({ name: "execute_code", arguments: { code } });
      expect(structuredContent).toMatchObject({ exit_code: 0 });
      session = (structuredContent as { session_id: string }).session_id;
      const { resources } = await client.listResources();
      const text = resources.find(({ name }) => name === "output/a b/ünï.txt");
      expect(text).toMatchObject({ mimeType: "text/plain", size: 4 });
      expect((await client.readResource({ uri: text?.uri ?? "" })).contents).toMatchObject([
        { uri: text?.uri, mimeType: "text/plain", text: "text" },
      ]);
      expect((await client.readResource({ uri: `caisson://${session}/output/dot.png` })).contents).toMatchObject([
        { mimeType: "image/png", blob: png },
      ]);
    });

    it("[MCP-04] hold no secret that the sandbox has, whatever code writes", async () => {
      const operator = await server.as("operator");
      const name = `TOLD_${era.replaceAll("-", "")}`;
      const value = `told-${"v".repeat(20)}-${era}`;
      await operator.put(`/api/v1/secrets/${name}`, value);
      const binding = { target: { all: true }, deliver: { as: "env", variable: name } };
      expect((await operator.post(`/api/v1/secrets/${name}/bindings`, binding)).status).toBe(201);
      await client.callTool({ name: "execute_code", arguments: { code: `open('${name}', 'w').write('${value}')` } });
      const { contents } = await client.readResource({ uri: `caisson://${session}/${name}` });
      expect(JSON.stringify(contents)).not.toContain(value);
    });

    it("[MCP-04] tell the last things that happened, and how long they took", async () => {
      await vi.waitFor(async () => {
        const { traces } = await read(client, "sandbox://logs");
        const run = traces.findLast(({ message }: { message: string }) => message.startsWith("execution.completed"));
        expect(run).toMatchObject({ level: "info", duration_ms: expect.any(Number), sandbox_id: expect.any(String) });
        expect(run.message).toContain("exit_code=0");
      });
      const status = await read(client, "sandbox://status");
      expect(status.session).toMatchObject({ session_id: session, status: "running" });
    });

    it("[MCP-04] are refused when too large, outside the workspace, or somebody else's", async () => {
      await expect(client.readResource({ uri: `caisson://${session}/large` })).rejects.toThrow(/limit: \d+ bytes/);
      for (const path of ["nothing", "%2Fetc%2Fpasswd", "..%2F..%2Fetc%2Fpasswd", "%zz"])
        await expect(client.readResource({ uri: `caisson://${session}/${path}` })).rejects.toThrow();
      const other = await connectClient(server, era, { namespace: "other" });
      await expect(other.readResource({ uri: `caisson://${session}/told` })).rejects.toThrow(/not found/i);
      const { traces } = await read(other, "sandbox://logs");
      // Its own key is all that its namespace has.
      expect(traces.filter(({ message }: { message: string }) => !message.startsWith("key.created"))).toEqual([]);
      expect((await read(other, "sandbox://status")).sandboxes).toEqual([]);
      await other.close();
    });

    it("[MCP-04] have their sessions and paths completed", async () => {
      const ref = { type: "ref/resource", uri: "caisson://{session}/{+path}" } as const;
      const paths = await client.complete({
        ref,
        argument: { name: "path", value: "output/d" },
        context: { arguments: { session } },
      });
      expect(paths.completion.values).toEqual(["output/dot.png"]);
      const sessions = await client.complete({ ref, argument: { name: "session", value: session.slice(0, 4) } });
      expect(sessions.completion.values).toContain(session);
    });

    it("[MCP-05] prompts ask for a script within bounds, and for mended data", async () => {
      const { prompts } = await client.listPrompts();
      expect(prompts.map(({ name }) => name)).toEqual(["generate_secure_script", "diagnose_validation_error"]);
      const script = await client.getPrompt({ name: "generate_secure_script", arguments: { task: "count words" } });
      expect(script.messages).toMatchObject([{ role: "user", content: { type: "text" } }]);
      expect(JSON.stringify(script.messages)).toMatch(/count words.*\/workspace\/output/s);
      const mend = await client.getPrompt({
        name: "diagnose_validation_error",
        arguments: { schema: "user", data: '{"age": "x"}', errors: "/age: must be integer" },
      });
      expect(JSON.stringify(mend.messages)).toMatch(/user.*must be integer/s);
      await expect(client.getPrompt({ name: "generate_secure_script", arguments: {} })).rejects.toThrow();
    });
  });
});
