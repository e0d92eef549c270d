import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { onDisconnect } from "../../packages/server/src/tools/lifeline.ts";
import { engines } from "../harness.ts";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient, type Era, eras } from "./client.ts";

/** A tree of three, of which one ignores what it is told. */
const tree = (mark: string) => `
trap '' TERM HUP
sh -c 'trap "" TERM; sleep ${mark} & wait' &
sleep ${mark} &
echo started > ${mark}
wait`;

describe.each(engines)("a call on %s that nobody waits for any more", (engine) => {
  let server: TestServer;
  let agent: Api;
  let marks = 98_000;
  beforeAll(async () => {
    server = await openTestServer(engine);
    agent = await server.as("agent");
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const shell = async (id: string, command: string) =>
    (await agent.post(`/api/v1/sandboxes/${id}/exec`, { command })).json.stdout as string;
  /** How many processes of the sandbox have the mark among their arguments. */
  const marked = async (id: string, mark: string) =>
    Number(await shell(id, `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '^${mark}$'`));
  const until = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 20 });

  /** Starts the tree in a session of its own, ends its call as told once it stands, and waits until nothing of it is left. */
  async function ended(start: (input: object) => { over: Promise<unknown>; end: () => void }) {
    const session_id = `ended-${++marks}`;
    const mark = String(marks);
    const made = await agent.post("/api/v1/sandboxes", { session_key: session_id });
    const { over, end } = start({ language: "shell", code: tree(mark), session_id });
    await until(async () => expect(await shell(made.json.id, `cat ${mark}; true`)).toBe("started\n"));
    await until(async () => expect(await marked(made.json.id, mark)).toBeGreaterThan(1));
    end();
    await over;
    await until(async () => expect(await marked(made.json.id, mark)).toBe(0));
  }

  const settled = (work: Promise<unknown>) => work.catch(() => undefined);
  const call = (client: Client, input: object, signal?: AbortSignal) =>
    settled(client.callTool({ name: "execute_code", arguments: { ...input } }, { ...(signal && { signal }) }));

  describe.each(eras)("from a client of %s", (era: Era) => {
    it("[MCP-07] is ended with its whole process tree when it is cancelled", async () => {
      const client = await connectClient(server, era);
      await ended((input) => {
        const control = new AbortController();
        return { over: call(client, input, control.signal), end: () => control.abort() };
      });
      await client.close();
    });

    it("[MCP-07] is interrupted in a session's interpreter, which stays as it was", async () => {
      const client = await connectClient(server, era);
      const session_id = `interrupted-${era}`;
      const python = (code: string) => ({ language: "python", code, session_id });
      const { structuredContent } = await client.callTool({ name: "execute_code", arguments: python("kept = 42") });
      const { sandbox_id } = structuredContent as { sandbox_id: string };
      const control = new AbortController();
      const code = "import time\nopen('here', 'w').close()\nwhile True: time.sleep(0.01)";
      const over = call(client, python(code), control.signal);
      await until(async () => expect(await shell(sandbox_id, "ls here; true")).toBe("here\n"));
      control.abort();
      await over;
      const after = await client.callTool({ name: "execute_code", arguments: python("kept") });
      expect(after.structuredContent).toMatchObject({ state: "kept", results: [{ json: 42 }] });
      await client.close();
    });

    it("[MCP-07] is ended when the client vanishes", async () => {
      const client = await connectClient(server, era);
      await ended((input) => ({ over: call(client, input), end: () => void client.close() }));
    });

    it("[MCP-07] goes on when the client vanishes from a session that stays", async () => {
      const session_key = `kept-${era}`;
      const labels = { [onDisconnect.label]: onDisconnect.keep };
      const { json } = await agent.post("/api/v1/sandboxes", { session_key, labels });
      const client = await connectClient(server, era);
      const code = "touch here; until [ -e go ]; do sleep 0.02; done; echo end > end";
      const over = call(client, { language: "shell", code, session_id: session_key });
      await until(async () => expect(await shell(json.id, "ls here; true")).toBe("here\n"));
      await client.close();
      await over;
      await shell(json.id, "touch go");
      await until(async () => expect(await shell(json.id, "cat end; true")).toBe("end\n"));
    });
  });

  it("[MCP-07] is ended when a client of REST goes away", async () => {
    const { token } = await server.keyring.issue({ name: "rest", namespace: "default", role: "agent" });
    await ended((input) => {
      const control = new AbortController();
      const over = fetch(`${server.base}/api/v1/tools/execute_code`, {
        method: "POST",
        headers: { "x-api-key": token, "content-type": "application/json" },
        body: JSON.stringify(input),
        signal: control.signal,
      });
      return { over: settled(over), end: () => control.abort() };
    });
  });
});
