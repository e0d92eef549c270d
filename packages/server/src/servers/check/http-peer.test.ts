import { type Duplex, duplexPair } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { HttpPeer } from "./http-peer.ts";

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
const MiB = 1024 ** 2;

async function answer(far: Duplex, texts: Iterable<string>): Promise<void> {
  let request = "";
  await new Promise<void>((resolve) =>
    far.on("data", (part) => {
      request += part;
      if (request.endsWith("}")) resolve();
    }),
  );
  const { id } = JSON.parse(request.slice(request.indexOf("{"))) as { id: string };
  far.write(head);
  for (const text of texts) {
    far.write(text);
    await turn();
  }
  far.end(`\r\n\r\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result: { heard: true } })}\r\n\r\n`);
}

/** Asks a server that sends these texts before its answer, each by itself. */
async function askAfter(texts: Iterable<string>) {
  const dial = async () => {
    const [near, far] = duplexPair();
    void answer(far, texts);
    return near;
  };
  return new HttpPeer(dial, "hosted", "/mcp").ask("ping", {});
}

describe("the check of a server over HTTP", () => {
  it("finds the answer after other events", async () => {
    expect(await askAfter(["data: {}\n\n", ": a comment\n\n", "data: []\r\n\r\n"])).toEqual({
      result: { heard: true },
    });
  });

  it("[S124] looks at each byte once, however small the pieces in which it comes", async () => {
    const texts = [`data: ${"x".repeat(8 * MiB)}`, ...Array.from({ length: 1_000 }, () => "x")];
    const startMs = performance.now();
    expect(await askAfter(texts)).toEqual({ result: { heard: true } });
    expect(performance.now() - startMs).toBeLessThan(4_000);
  });
});
