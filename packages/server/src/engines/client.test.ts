import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { EngineClient } from "./client.ts";
import { protocolVersion } from "./protocol.ts";

it("answers news of the disk that a sandbox could not take, and tells why", async () => {
  const folder = await mkdtemp(join(tmpdir(), "caisson-"));
  const path = join(folder, "socket");
  const server = createServer((socket) => socket.write(`${JSON.stringify({ hello: protocolVersion })}\n`)).listen(path);
  const connected = once(server, "connection") as Promise<[Socket]>;
  await once(server, "listening");
  const errors: unknown[] = [];
  const client = await EngineClient.connect({ path, sandboxes: folder, onError: (error) => errors.push(error) });
  const [engine] = await connected;
  const refusal = new Error("it cannot stand still");
  client.own({ id: "one" });
  client.owned("one").disk = () => Promise.reject(refusal);
  engine.write(`${JSON.stringify({ disk: 7, id: "one", news: "low" })}\n`);
  const [answer] = await once(engine, "data");
  expect(String(answer)).toBe('{"answer":7}\n');
  expect(errors).toEqual([refusal]);
  await client[Symbol.asyncDispose]();
  server.close();
  await rm(folder, { recursive: true });
});
