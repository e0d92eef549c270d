import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { HttpDialer } from "./dialer.ts";

async function serve(answer: RequestListener) {
  const requests: { request: IncomingMessage; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = (await request.setEncoding("utf8").toArray()).join("");
    requests.push({ request, body });
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    requests,
    port,
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const message = { headers: { "content-type": "text/plain" }, body: "hello", timeoutMs: 10_000 };

describe("the way out of the daemon", () => {
  const dialer = new HttpDialer({ allowPrivate: true });
  const guarded = new HttpDialer({ allowPrivate: false });

  it("sends a body and tells the status", async () => {
    using server = await serve((_, response) => response.writeHead(202).end("ok"));
    expect(await dialer.post({ url: `http://127.0.0.1:${server.port}/hook?a=1`, ...message })).toEqual({
      status: 202,
      location: null,
    });
    expect(server.requests).toMatchObject([{ request: { method: "POST", url: "/hook?a=1" }, body: "hello" }]);
  });

  it("does not follow a redirect", async () => {
    using server = await serve((_, response) => response.writeHead(307, { location: "/elsewhere" }).end());
    const answer = await dialer.post({ url: `http://127.0.0.1:${server.port}/`, ...message });
    expect(answer).toEqual({ status: 307, location: "/elsewhere" });
    expect(server.requests.length).toBe(1);
  });

  it.each(["127.0.0.1", "[::1]", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"])(
    "cannot reach this machine as %s unless told that it may",
    async (host) => {
      using server = await serve((_, response) => response.end());
      const url = `http://${host}:${server.port}/`;
      await expect(guarded.post({ url, ...message })).rejects.toMatchObject({ code: "forbidden" });
      expect(server.requests).toEqual([]);
    },
  );

  it.each(["file:///etc/passwd", "ftp://example.com/", "http://user:word@example.com/", "nothing", "http://"])(
    "refuses %s",
    async (url) => await expect(dialer.post({ url, ...message })).rejects.toMatchObject({ code: "invalid" }),
  );

  it("gives up on a server that does not answer", async () => {
    using server = await serve(() => {});
    const url = `http://127.0.0.1:${server.port}/`;
    await expect(dialer.post({ url, ...message, timeoutMs: 200 })).rejects.toMatchObject({ code: "timeout" });
  });

  it("says who cannot be reached", async () => {
    let port: number;
    {
      using server = await serve((_, response) => response.end());
      port = server.port;
    }
    const post = dialer.post({ url: `http://127.0.0.1:${port}/`, ...message });
    await expect(post).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("ECONNREFUSED") });
  });
});
