import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HttpDialer } from "../../packages/server/src/egress/dialer.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { WebhookSender } from "../../packages/server/src/webhooks/webhook-sender.ts";
import { backpressure, journalOf } from "../journal.ts";

const hourMs = 3_600_000;

let folder: string;
let receiver: Server;
let got: { headers: IncomingHttpHeaders; body: string }[];

beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-webhooks-");
  got = [];
  receiver = createServer(async (request, response) => {
    const body = (await request.setEncoding("utf8").toArray()).join("");
    got.push({ headers: request.headers, body });
    response.writeHead(204).end();
    receiver.emit("got");
  });
});
afterEach(async () => {
  if (receiver.listening) await down();
  await rm(folder, { recursive: true });
});

async function up(port = 0): Promise<number> {
  receiver.listen(port, "127.0.0.1");
  await once(receiver, "listening");
  return (receiver.address() as AddressInfo).port;
}

async function down(): Promise<void> {
  receiver.closeAllConnections();
  await new Promise((closed) => receiver.close(closed));
}

/** What a daemon has of it, so many hours after the test began. */
async function openDaemon(hours: number) {
  await using opened = new AsyncDisposableStack();
  const clock = { ...systemClock, wallMs: () => Date.now() + hours * hourMs };
  const store = opened.use(await openStore({ path: join(folder, "caisson.db"), clock }));
  const journal = opened.use(await journalOf(store));
  const errors: unknown[] = [];
  const dialer = new HttpDialer({ allowPrivate: true });
  const parts = { journal, batch: store.batch, webhooks: store.webhooks, dialer, clock, waitsMs: [hourMs, hourMs] };
  const sender = opened.use(await WebhookSender.open({ ...parts, onError: (error) => errors.push(error) }));
  const owned = opened.move();
  const tell = (n: number) => journal.record(backpressure("default", n));
  return { store, sender, tell, errors, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** As the Standard Webhooks specification has a receiver do it. */
function isGenuine(secret: string, { headers, body }: (typeof got)[number]): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  return headers["webhook-signature"] === `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}

describe("a delivery that waits", () => {
  it("[EVT-02] outlives the daemon, and arrives once, signed as of then", async () => {
    const port = await up();
    await down();
    let secret: string;
    let id: string;
    {
      await using daemon = await openDaemon(0);
      const webhook = await daemon.sender.add("default", `http://127.0.0.1:${port}/hook`, []);
      secret = webhook.secret;
      daemon.tell(1);
      await expect.poll(() => daemon.store.webhooks.deliveries(webhook.id)).toMatchObject([{ attempts: 1 }]);
      const [waiting] = await daemon.store.webhooks.deliveries(webhook.id, "pending");
      expect(waiting?.lastError).toContain("ECONNREFUSED");
      id = waiting?.id ?? "";
    }
    await up(port);
    {
      // Not before its time, whoever comes and goes meanwhile.
      await using daemon = await openDaemon(0.5);
      const [webhook] = await daemon.store.webhooks.list();
      const pending = await daemon.store.webhooks.deliveries(webhook?.id ?? "", "pending");
      expect(pending).toMatchObject([{ id, attempts: 1 }]);
    }
    expect(got).toEqual([]);
    const arrived = once(receiver, "got");
    {
      await using _daemon = await openDaemon(1.5);
      await arrived;
    }
    {
      // What is told after it arrives after it: nothing else was left to arrive.
      await using daemon = await openDaemon(5);
      const next = once(receiver, "got");
      daemon.tell(2);
      await next;
      expect(daemon.errors).toEqual([]);
    }
    expect(got.map(({ body }) => JSON.parse(body).data.waiting)).toEqual([1, 2]);
    const [first] = got as [(typeof got)[number]];
    expect(isGenuine(secret, first)).toBe(true);
    expect(isGenuine("whsec_AAAA", first)).toBe(false);
    expect(first.headers["webhook-id"]).toBe(id);
    const ageMs = Number(first.headers["webhook-timestamp"]) * 1_000 - Date.now();
    expect(Math.abs(ageMs - 1.5 * hourMs)).toBeLessThan(hourMs / 10);
  });
});
