import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** Passes everything on with a key, for programs that can send none. */
export async function openKeyedDoor(base: string, token: string): Promise<AsyncDisposable & { url: string }> {
  // A connection for each request: streams that are left in the middle are part of what is tested.
  const { hostname, port } = new URL(base);
  const where = { hostname, port, agent: false as const };
  const server = createServer((from, to) => {
    const headers = { ...from.headers, "x-api-key": token };
    const passed = request({ ...where, method: from.method, path: from.url, headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(to);
    });
    from.pipe(passed);
    passed.on("error", () => to.destroy());
    to.on("close", () => passed.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
