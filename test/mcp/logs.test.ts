import { type Client, LOG_LEVEL_META_KEY, type LoggingLevel } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient, type Era, eras } from "./client.ts";
import { resultOf } from "./results.ts";

const [engine = "container"] = engines;

describe("log messages of a call", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  /** Calls the tool, and says what was logged before its result. */
  async function logged(client: Client, era: Era, level: LoggingLevel | undefined, given: object): Promise<string[]> {
    const told: string[] = [];
    client.setNotificationHandler("notifications/message", ({ params }) => {
      const { message, sandbox_id } = params.data as { message: string; sandbox_id: string };
      expect([params.logger, typeof sandbox_id]).toEqual(["caisson", "string"]);
      told.push(`${params.level} ${message.split(" ")[0]}`);
    });
    if (level !== undefined && era === "2025-11-25") await client.setLoggingLevel(level);
    const _meta = level !== undefined && era === "2026-07-28" ? { [LOG_LEVEL_META_KEY]: level } : {};
    resultOf(await client.callTool({ name: "execute_code", arguments: { ...given }, _meta } as never));
    client.removeNotificationHandler("notifications/message");
    return told;
  }

  describe.each(eras)("to a client of %s", (era) => {
    it("are those of its level, of the sandboxes that it works in, and none unless it asks", async () => {
      const client = await connectClient(server, era);
      const other = await connectClient(server, era);
      const run = { language: "shell", session_id: `own-${era}`, code: "true" };
      expect(await logged(client, era, undefined, run)).toEqual([]);
      expect(await logged(client, era, "info", run)).toEqual(["info execution.started", "info execution.completed"]);
      const elsewhere = { language: "shell", session_id: `other-${era}`, code: "until [ -e go ]; do sleep 0.02; done" };
      const waiting = other.callTool({ name: "execute_code", arguments: elsewhere });
      const failing = { ...run, code: "exit 3" };
      expect(await logged(client, era, "info", failing)).toEqual(["info execution.started", "error execution.failed"]);
      expect(await logged(client, era, "warning", failing)).toEqual(["error execution.failed"]);
      const go = { session_id: elsewhere.session_id, path: "go", content: "" };
      resultOf(await client.callTool({ name: "write_file", arguments: go }));
      resultOf(await waiting);
      await Promise.all([client.close(), other.close()]);
    });
  });
});
