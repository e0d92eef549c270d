import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { webhookLimits } from "../../packages/server/src/webhooks/limits.ts";
import { backpressure } from "../journal.ts";
import { openTestServer, type TestServer } from "./server.ts";

interface Got {
  headers: IncomingHttpHeaders;
  body: string;
}

/** Someone who is told of events, and answers as told to. */
async function openReceiver(...statuses: number[]) {
  const got: Got[] = [];
  const server = createServer(async (request, response) => {
    got.push({ headers: request.headers, body: (await request.setEncoding("utf8").toArray()).join("") });
    response.writeHead(statuses.shift() ?? 200).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    got,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** As the Standard Webhooks specification has a receiver do it. */
function isGenuine(secret: string, { headers, body }: Got): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  return headers["webhook-signature"] === `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}

describe("webhooks", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer("container");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const tell = (namespace: string) => server.journal.record(backpressure(namespace, 3));

  it("[EVT-02] get events of their namespace and types, signed in the Standard Webhooks way", async () => {
    using receiver = await openReceiver();
    const api = await server.as("operator", "signed");
    const { status, json } = await api.post("/api/v1/webhooks", { url: receiver.url, types: ["queue.backpressure"] });
    expect(status).toBe(201);
    await server.journal.record({ type: "disk.low", by: "system", namespace: "signed", data: {} });
    await tell("another");
    await tell("signed");
    await vi.waitFor(() => expect(receiver.got.length).toBe(1), 20_000);
    const [got] = receiver.got as [Got];
    expect(JSON.parse(got.body)).toMatchObject({
      type: "queue.backpressure",
      id: null,
      namespace: "signed",
      sandbox_id: null,
      run_id: null,
      data: { waiting: 3 },
    });
    expect(isGenuine(json.secret, got)).toBe(true);
    expect(isGenuine(json.secret, { ...got, body: got.body.replace("3", "4") })).toBe(false);
    const list = await api.get("/api/v1/webhooks");
    expect(list.json).toMatchObject([{ id: json.id, url: receiver.url }]);
    expect(JSON.stringify(list.json)).not.toContain("whsec_");
  });

  it("[EVT-02] are tried again, with the same id and body, until they arrive", async () => {
    using receiver = await openReceiver(500, 503);
    const api = await server.as("operator", "again");
    const { json } = await api.post("/api/v1/webhooks", { url: receiver.url });
    await tell("again");
    const path = `/api/v1/webhooks/${json.id}/deliveries`;
    await vi.waitFor(async () => expect((await api.get(`${path}?state=delivered`)).json.length).toBe(1), 20_000);
    expect(receiver.got.length).toBe(3);
    expect(new Set(receiver.got.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(receiver.got.map(({ body }) => body)).size).toBe(1);
  });

  it("[EVT-02] are dead after the last try, told so, and can be tried once more", async () => {
    using receiver = await openReceiver(500, 500, 500);
    using reader = server.journal.read({ namespace: "dead", types: ["webhook.failed"] });
    const api = await server.as("operator", "dead");
    const { json } = await api.post("/api/v1/webhooks", { url: receiver.url });
    await tell("dead");
    expect((await reader.next()).value).toMatchObject({ data: { webhook_id: json.id, reason: "answered 500" } });
    const path = `/api/v1/webhooks/${json.id}/deliveries`;
    const [dead] = (await api.get(`${path}?state=dead`)).json;
    expect(dead).toMatchObject({ state: "dead", attempts: 3, last_error: "answered 500" });
    expect((await api.post(`${path}/${dead.id}/retry`)).status).toBe(204);
    await vi.waitFor(async () => expect((await api.get(`${path}?state=delivered`)).json.length).toBe(1), 20_000);
    expect((await api.post(`${path}/${dead.id}/retry`)).status).toBe(409);
  });

  it("are dead at once when their receiver says that it is gone", async () => {
    using receiver = await openReceiver(410);
    const api = await server.as("operator", "gone");
    const { json } = await api.post("/api/v1/webhooks", { url: receiver.url });
    await tell("gone");
    const path = `/api/v1/webhooks/${json.id}/deliveries?state=dead`;
    await vi.waitFor(async () => expect((await api.get(path)).json).toMatchObject([{ attempts: 1 }]), 20_000);
  });

  it("belong to a namespace: another sees none of them, and deletes none", async () => {
    const mine = await server.as("operator", "mine");
    const theirs = await server.as("operator", "theirs");
    const { json } = await mine.post("/api/v1/webhooks", { url: "http://127.0.0.1:9/" });
    expect((await theirs.get("/api/v1/webhooks")).json).toEqual([]);
    expect((await theirs.delete(`/api/v1/webhooks/${json.id}`)).status).toBe(404);
    expect((await theirs.get(`/api/v1/webhooks/${json.id}/deliveries`)).status).toBe(404);
    expect((await mine.delete(`/api/v1/webhooks/${json.id}`)).status).toBe(204);
    expect((await mine.get("/api/v1/webhooks")).json).toEqual([]);
  });

  it("are refused past their limit, and with a URL that nothing is sent to", async () => {
    const api = await server.as("operator", "many");
    for (const url of ["ftp://example.com/", "nothing", "https://user:word@example.com/"])
      expect((await api.post("/api/v1/webhooks", { url }, { bad: true })).status).toBe(400);
    for (let made = 0; made < webhookLimits.perNamespace; made++)
      expect((await api.post("/api/v1/webhooks", { url: "https://example.com/" })).status).toBe(201);
    expect((await api.post("/api/v1/webhooks", { url: "https://example.com/" })).json).toMatchObject({
      code: "limit_exceeded",
    });
  });
});
