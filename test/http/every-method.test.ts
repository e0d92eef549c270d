import { METHODS } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;

describe("errors below the routes", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const open = () => connect(Number(new URL(server.base).port), "127.0.0.1").on("error", () => undefined);

  const bodies = {
    none: "\r\n",
    empty: "content-length: 0\r\n\r\n",
    untyped: "content-length: 2\r\n\r\n{}",
    typed: "content-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
    chunked: "transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
  };
  const paths = ["/", "/nothing", "/api/v1/sandboxes", "/api/v1/sandboxes/x/files/a", "/mcp", "/healthz", "/%zz"];
  it.each(Object.entries(bodies))(
    "[API-02] each method that HTTP has gets an answer without a key, body: %s",
    async (_, body) => {
      const asked = METHODS.flatMap((method) => paths.map((path) => ({ method, path })));
      const answers = await Promise.all(
        asked.map(async ({ method, path }) => {
          const socket = open();
          socket.write(`${method} ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${body}`);
          const answer = await text(socket);
          return { method, path, status: Number(/^HTTP\/1.1 (\d{3}) /.exec(answer)?.[1]), answer };
        }),
      );
      const expected = [200, 204, 302, 400, 401, 404, 405];
      expect(answers.filter(({ status }) => !expected.includes(status))).toEqual([]);
      const query = answers.filter(({ method, path }) => method === "QUERY" && path === "/api/v1/sandboxes");
      expect(query).toMatchObject([
        { status: 405, answer: expect.stringMatching(/allow: .*POST.*application\/problem/is) },
      ]);
    },
  );

  it("a client that leaves in the middle of what it sends is no error of the server's", async () => {
    const api = await server.as("agent");
    const at = `/api/v1/sandboxes/${await api.create()}`;
    const head = `host: localhost\r\nx-api-key: ${api.headers["x-api-key"]}\r\n`;
    const json = "content-type: application/json\r\n";
    const requests = [
      `PUT ${at}/files/a HTTP/1.1\r\n${head}content-length: 1000\r\n\r\nxx`,
      `PUT ${at}/files/a HTTP/1.1\r\n${head}transfer-encoding: chunked\r\n\r\nzz`,
      `PUT ${at}/archive HTTP/1.1\r\n${head}content-type: application/x-tar\r\ncontent-length: 9000\r\n\r\nxx`,
      `POST ${at}/exec HTTP/1.1\r\n${head}${json}content-length: 1000\r\n\r\n{"com`,
      `POST ${at}/exec HTTP/1.1\r\n${head}${json}transfer-encoding: chunked\r\n\r\n5\r\n{"com\r\nzz`,
    ];
    for (const request of requests) {
      const reached = vi.spyOn(server.fleet, "use");
      const socket = open();
      await new Promise<void>((sent) => socket.write(request, () => sent()));
      if (request.startsWith("PUT")) await vi.waitFor(() => expect(reached).toHaveBeenCalled());
      socket.resetAndDestroy();
      reached.mockRestore();
    }
    // What comes of it is among the errors by the time that the server has closed.
    expect((await api.get(at)).status).toBe(200);
  });
});
