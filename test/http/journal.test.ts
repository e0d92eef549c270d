import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Batch } from "../../packages/server/src/core/batch.ts";
import type { JournalEvent, News } from "../../packages/server/src/core/journal.ts";
import { HttpDialer } from "../../packages/server/src/egress/dialer.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import type { Store } from "../../packages/server/src/store/store.ts";
import { WebhookSender } from "../../packages/server/src/webhooks/webhook-sender.ts";
import { journalOf } from "../journal.ts";
import { type Message, messages } from "./messages.ts";
import { openTestServer } from "./server.ts";

const happened = (n: number): News => ({
  type: "gc.completed",
  by: "system",
  namespace: "default",
  data: { trigger: "asked", freed_items: n, freed_bytes: 0 },
});

describe("what a daemon's journal tells", () => {
  let folder: string;
  let receiver: Server;
  let got: JournalEvent[];
  beforeEach(async () => {
    folder = await mkdtemp("/var/tmp/caisson-journal-");
    got = [];
    receiver = createServer((request, response) => {
      request.setEncoding("utf8");
      let body = "";
      request.on("data", (piece) => {
        body += piece;
      });
      request.on("end", () => {
        got.push(JSON.parse(body));
        response.end();
      });
    });
    await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
  });
  afterEach(async () => {
    receiver.closeAllConnections();
    await new Promise((closed) => receiver.close(closed));
    await rm(folder, { recursive: true });
  });

  const url = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;

  /** One daemon's store and journal after the other. */
  async function open(batchOf: (store: Store) => Batch = (store) => store.batch()) {
    await using opened = new AsyncDisposableStack();
    const store = opened.use(await openStore({ path: join(folder, "caisson.db") }));
    const journal = opened.use(await journalOf(store));
    const errors: unknown[] = [];
    const sender = opened.use(
      await WebhookSender.open({
        journal,
        webhooks: store.webhooks,
        batch: () => batchOf(store),
        dialer: new HttpDialer({ allowPrivate: true }),
        onError: (error) => errors.push(error),
      }),
    );
    const owned = opened.move();
    return { store, journal, sender, errors, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  }

  it("[S103] arrives at a webhook of a daemon that ended between an event and its delivery, once", async () => {
    {
      await using daemon = await open();
      await daemon.sender.add("default", url(), ["gc.completed"]);
      await daemon.journal.record(happened(1));
      await expect.poll(() => got.length).toBe(1);
    }
    {
      // Its deliveries are never stored: it ends as if it was killed before.
      const killed = { record: () => undefined, commit: () => Promise.reject(new Error("killed")) };
      await using daemon = await open(() => killed);
      daemon.store.webhooks.enqueue = async () => undefined;
      daemon.store.webhooks.reached = async () => undefined;
      await daemon.journal.record(happened(2));
      await daemon.journal.record(happened(3));
      await expect.poll(() => daemon.errors.length).toBeGreaterThan(0);
    }
    expect(got.length).toBe(1);
    {
      await using _daemon = await open();
      await expect.poll(() => got.length).toBe(3);
    }
    {
      await using daemon = await open();
      await daemon.journal.record(happened(4));
      await expect.poll(() => got.length).toBe(4);
    }
    expect(got.map(({ data }) => (data as { freed_items: number }).freed_items)).toEqual([1, 2, 3, 4]);
    expect(got.map(({ id }) => id)).toEqual([1, 2, 3, 4]);
  });

  it("sends a webhook nothing from before it was made", async () => {
    {
      await using daemon = await open();
      await daemon.journal.record(happened(1));
      await daemon.sender.add("default", url(), []);
    }
    await using daemon = await open();
    await daemon.journal.record(happened(2));
    await expect.poll(() => got.length).toBe(1);
    expect(got).toMatchObject([{ id: 2, namespace: "default", sandbox_id: null, run_id: null }]);
  });

  it("[EVT-01] goes on after a restart of the daemon: a client that comes back with Last-Event-ID misses nothing", async () => {
    const daemonFolder = join(folder, "daemon");
    let key = {};
    let known = "";
    {
      await using server = await openTestServer("container", { daemonFolder });
      const api = await server.as("viewer");
      key = api.headers;
      const following = await api.open("GET", "/api/v1/events?types=gc.completed");
      await server.journal.record(happened(1));
      for await (const { id } of messages(following)) {
        known = String(id);
        break;
      }
      await server.journal.record(happened(2));
      await server.journal.record(happened(3));
    }
    await using server = await openTestServer("container", { daemonFolder });
    await server.journal.record(happened(4));
    const api = server.anonymous.with(key);
    const headers = { "last-event-id": known };
    const following = await api.open("GET", "/api/v1/events?types=gc.completed", { headers });
    await server.journal.record(happened(5));
    const found: Message[] = [];
    for await (const message of messages(following)) {
      found.push(message);
      if (message.data.freed_items === 5) break;
    }
    expect(found.map(({ data }) => data.freed_items)).toEqual([2, 3, 4, 5]);
    const ids = [Number(known), ...found.map(({ id }) => id)];
    expect(ids).toEqual([...new Set(ids)].sort((one, other) => one - other));
  });
});
