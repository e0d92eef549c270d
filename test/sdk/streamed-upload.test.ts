import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { Transport } from "../../packages/sdk/src/transport.ts";

const MiB = 1024 ** 2;
const sizeMiB = 256;

it("[FIL-04] a body that is streamed goes as it comes, and none of it is kept", async () => {
  let got = 0;
  const server = createServer((request, response) => {
    request.on("data", (piece: Buffer) => {
      got += piece.length;
    });
    request.on("end", () => response.writeHead(204).end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    let made = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        controller.enqueue(new Uint8Array(MiB));
        if (++made === sizeMiB) controller.close();
      },
    });
    const before = process.memoryUsage().arrayBuffers;
    await new Transport({ url }).json("PUT", "/", { body, timeoutMs: null });
    expect(got).toBe(sizeMiB * MiB);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan((sizeMiB / 2) * MiB);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
