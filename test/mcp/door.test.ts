import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient, eras } from "./client.ts";
import { refusalOf } from "./results.ts";

const [engine = "container"] = engines;

describe("/mcp", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  describe.each(eras)("to a client of %s", (era) => {
    let client: Client;
    beforeAll(async () => {
      client = await connectClient(server, era);
    });
    afterAll(() => client.close());

    it("lists tools with schemas for what they take and give", async () => {
      expect(client.getNegotiatedProtocolVersion()).toBe(era);
      const { tools } = await client.listTools();
      const found = tools.find(({ name }) => name === "execute_code");
      expect(found).toMatchObject({
        inputSchema: { type: "object", required: ["code"] },
        outputSchema: { type: "object" },
        annotations: { readOnlyHint: false, openWorldHint: true },
      });
    });

    it("runs code, and the files it leaves are there in the next call", async () => {
      const write = await client.callTool({
        name: "execute_code",
        arguments: { code: "open('a', 'w').write('kept')" },
      });
      expect(write.structuredContent).toMatchObject({ exit_code: 0 });
      const read = await client.callTool({
        name: "execute_code",
        arguments: { language: "shell", code: "cat a; echo wrong >&2; exit 3" },
      });
      expect(read.structuredContent).toMatchObject({ exit_code: 3, stdout: "kept", stderr: "wrong\n" });
    });

    it("tells output while it is produced, to whoever asks for progress", async () => {
      const told: string[] = [];
      const { structuredContent } = await client.callTool(
        { name: "execute_code", arguments: { code: "print('one', flush=True)\nprint('two')" } },
        { onprogress: ({ message = "" }) => void told.push(message) },
      );
      expect(structuredContent).toMatchObject({ stdout: "one\ntwo\n" });
      expect(told.join("")).toBe("one\ntwo\n");
    });

    it("says in words what is wrong with a call", async () => {
      const call = (given: object) => client.callTool({ name: "execute_code", arguments: { ...given } });
      expect(refusalOf(await call({ language: "cobol" }))).toMatchObject({
        error: "invalid",
        message: expect.stringContaining("language: "),
        hint: "see the input schema of the tool",
        details: { issues: expect.arrayContaining([{ path: ["code"], message: expect.any(String) }]) },
      });
      expect(refusalOf(await call({ code: "1", nonsense: 1 })).message).toContain("nonsense");
      const limits = { max_procesess: 3 };
      const meant = refusalOf(await call({ code: "1", resource_limits: limits }));
      expect(meant).toMatchObject({ hint: "did you mean max_processes?" });
    });
  });
});
