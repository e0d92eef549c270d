import { once } from "node:events";
import { createServer } from "node:http";
import { duplexPair, PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished, vi } from "vitest";
import { type Ask, ask, askUpgrade } from "./ask.ts";

const asked: Ask = { method: "GET", path: "/x?y=1", fields: ["Host", "a"], headBytes: 4096, answerMs: 200, peer: "it" };

/** Two ends of a connection that is no socket; a program listens at the second. */
function connected(server = createServer()) {
  const [near, far] = duplexPair();
  server.emit("connection", far);
  near.on("error", () => undefined);
  far.on("error", () => undefined);
  return { near, far, server };
}

it("asks on a connection that is there already, and gets the answer as it begins", async () => {
  const { near, server } = connected();
  server.on("request", async (request, response) => {
    response.writeHead(201, { "x-path": request.url });
    response.write("first ");
    response.end(await text(request));
  });
  const fields = [...asked.fields, "Transfer-Encoding", "chunked"];
  const answer = await ask(near, { ...asked, method: "POST", fields }, { body: Readable.from(["the body"]) });
  expect([answer.statusCode, answer.headers["x-path"]]).toEqual([201, "/x?y=1"]);
  expect(await text(answer)).toBe("first the body");
});

it("ends the connection of a peer that does not answer, or has ended it", async () => {
  const silent = connected();
  await expect(ask(silent.near, asked)).rejects.toMatchObject({ code: "timeout", message: "it does not answer" });
  expect(silent.near.destroyed).toBe(true);
  const carrier = new PassThrough();
  const asking = ask(connected().near, { ...asked, answerMs: 60_000 }, { carrier });
  carrier.destroy();
  await expect(asking).rejects.toThrow("it has ended the connection");
});

it("waits for the answer from when the whole request was sent, and no longer once it began", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { near, server } = connected();
  const body = new PassThrough();
  const arrived = once(server, "request");
  const fields = [...asked.fields, "Transfer-Encoding", "chunked"];
  const asking = ask(near, { ...asked, method: "POST", fields }, { body });
  body.write("slow");
  const [request, response] = await arrived;
  vi.advanceTimersByTime(asked.answerMs * 2);
  response.writeHead(200);
  response.write("a");
  const answer = await asking;
  body.end();
  await text(request);
  vi.advanceTimersByTime(asked.answerMs * 2);
  response.end("b");
  expect(await text(answer)).toBe("ab");
});

it("gives the rest of the connection to a WebSocket, with what came beside the agreement", async () => {
  const { near, server } = connected();
  server.on("upgrade", (_request, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
  });
  const { answer, isUpgraded } = await askUpgrade(near, asked);
  expect([isUpgraded, answer.statusCode]).toEqual([true, 101]);
  const [chunk] = await once(near, "data");
  expect(String(chunk)).toBe("hello");
});

it("takes the refusal of a WebSocket for an answer", async () => {
  const { near, server } = connected();
  server.on("request", (_request, response) => response.writeHead(403).end("no"));
  const { answer, isUpgraded } = await askUpgrade(near, asked);
  expect([isUpgraded, answer.statusCode, await text(answer)]).toEqual([false, 403, "no"]);
});
