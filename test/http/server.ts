import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Caisson, openCaisson } from "../../packages/server/src/app.ts";
import { systemClock } from "../../packages/server/src/core/clock.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Role } from "../../packages/server/src/core/principal.ts";
import type { Store } from "../../packages/server/src/core/store.ts";
import { HttpDialer } from "../../packages/server/src/egress/dialer.ts";
import { EventFeed } from "../../packages/server/src/events/event-feed.ts";
import { tellFeed } from "../../packages/server/src/events/tell-feed.ts";
import { WebhookSender } from "../../packages/server/src/events/webhook-sender.ts";
import { createHttpApp, type HttpParts } from "../../packages/server/src/http/http-app.ts";
import { allReady } from "../../packages/server/src/http/readiness.ts";
import type { Route } from "../../packages/server/src/http/route.ts";
import { skillRoutes } from "../../packages/server/src/http/skills.ts";
import { snapshotRoutes } from "../../packages/server/src/http/snapshots.ts";
import { webhookRoutes } from "../../packages/server/src/http/webhooks.ts";
import { Keyring } from "../../packages/server/src/identity/keyring.ts";
import { SandboxFleet } from "../../packages/server/src/sandboxes/fleet/fleet.ts";
import { openStorage, type Storage } from "../../packages/server/src/sandboxes/open-storage.ts";
import { FileBlobs } from "../../packages/server/src/store/blobs.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { guestPath, root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import { Api } from "./api.ts";
import { type Document, Judge } from "./document.ts";

const MiB = 1024 ** 2;

export interface TestServer extends AsyncDisposable {
  base: string;
  home: string;
  caisson: Caisson;
  store: Store;
  blobs: FileBlobs;
  storage: Storage;
  fleet: SandboxFleet;
  feed: EventFeed;
  keyring: Keyring;
  judge: Judge;
  routes: readonly Route[];
  setupLink(): string;
  /** A client with a new key. */
  as(role: Role, namespace?: string): Promise<Api>;
  /** Without one. */
  anonymous: Api;
  /** What went wrong inside, beside what callers were told. */
  errors: unknown[];
}

interface TestServerOptions extends Partial<HttpParts> {
  webhooksMayBePrivate?: boolean;
  runtimePaths?: Partial<Record<EngineName, string>>;
  /** Where its store lies, when that is not below its data folder. */
  daemonFolder?: string;
}

/** The whole server but its process: real store, fleet and engines behind a listening socket. */
export async function openTestServer(
  engine: EngineName,
  { webhooksMayBePrivate = true, runtimePaths = {}, daemonFolder, ...options }: TestServerOptions = {},
): Promise<TestServer> {
  const home = await mkdtemp("/var/tmp/caisson-test-");
  const daemon = daemonFolder ?? join(home, "daemon");
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const records = { keep: 100, days: 1, outputBytes: 1024 };
  const caisson = openCaisson({ home, root, guestPath, runtimePaths, records, onError });
  const store = await openStore({ path: join(daemon, "caisson.db") });
  const feed = new EventFeed();
  const { snapshots, skills, audit } = store;
  const blobs = await FileBlobs.open(join(daemon, "blobs"));
  const storage = openStorage({ blobs, snapshots, skills, audit, feed, clock: systemClock, onError });
  const fleet = await SandboxFleet.open({
    maker: caisson,
    clock: systemClock,
    settings: {
      engine,
      images: ["host"],
      limits: { storageBytes: 64 * MiB },
      idleTimeoutMs: 1_800_000,
      lifetimeMs: 86_400_000,
      maxLifetimeMs: 86_400_000,
      maxConcurrent: 8,
      poolSize: 0,
      commands: { allow: [], deny: [] },
      startsAtOnce: 2,
    },
    records: store.sandboxes,
    audit: store.audit,
    feed,
    restore: async (caller, sandbox, id) => void (await storage.snapshots.restore(caller, sandbox, id)),
    onError,
  });
  tellFeed(caisson.events, (id) => fleet.namespaceOf(id), feed);
  const webhooks = await WebhookSender.open({
    feed,
    webhooks: store.webhooks,
    dialer: new HttpDialer({ allowPrivate: webhooksMayBePrivate }),
    waitsMs: [1, 1],
    onError,
  });
  const keyring = new Keyring({ keys: store.keys });
  const { app, routes, issueSetupLink } = createHttpApp({
    fleet,
    keyring,
    audit: store.audit,
    feed,
    idempotency: store.idempotency,
    runs: (id) => caisson.runs(id),
    signer: () => caisson.signer(),
    settings: () => [{ name: "engine", value: engine, origin: "options" }],
    ready: allReady({ store: () => store.checkWritable() }, () => undefined),
    version: "0.0.0",
    rate: { perSecond: 100_000, burst: 100_000 },
    onError,
    routes: [
      ...snapshotRoutes(fleet, storage.snapshots),
      ...skillRoutes(fleet, storage.skills),
      ...webhookRoutes(store.webhooks, webhooks),
    ],
    ...options,
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const judge = new Judge((await (await fetch(`${base}/openapi.json`)).json()) as Document);
  return {
    base,
    home,
    caisson,
    store,
    blobs,
    storage,
    fleet,
    feed,
    keyring,
    judge,
    routes,
    setupLink: issueSetupLink,
    errors,
    anonymous: new Api(base, judge, {}),
    as: async (role, namespace = "default") => {
      const { token } = await keyring.issue({ name: role, namespace, role });
      return new Api(base, judge, { "x-api-key": token });
    },
    [Symbol.asyncDispose]: async () => {
      app.server.closeAllConnections();
      await app.close();
      await webhooks[Symbol.asyncDispose]();
      feed[Symbol.dispose]();
      await fleet.drain(0);
      for (const { id } of await caisson.keptSandboxes()) await caisson.destroySandbox(id);
      await caisson[Symbol.asyncDispose]();
      await storage.sweeper.settled();
      await store[Symbol.asyncDispose]();
      const leaks = findLeaks(home);
      await rm(home, { recursive: true, force: true });
      if (leaks.length > 0) throw new Error(`left behind:\n  ${leaks.join("\n  ")}`);
    },
  };
}
