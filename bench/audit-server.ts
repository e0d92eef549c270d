// Runs in a process of its own: the daemon's parts with an audit log that this benchmark can leave out. Its standard
// input says `on` or `off`, and it answers with the same word.
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { openCaisson } from "../packages/server/src/app.ts";
import { ApprovalQueue } from "../packages/server/src/approvals/approval-queue.ts";
import type { Journal } from "../packages/server/src/core/journal.ts";
import { createHttpApp } from "../packages/server/src/http/http-app.ts";
import { Keyring } from "../packages/server/src/identity/keyring.ts";
import { StoredJournal } from "../packages/server/src/journal/stored-journal.ts";
import { systemClock } from "../packages/server/src/lib/clock.ts";
import { SandboxFleet } from "../packages/server/src/sandboxes/fleet/fleet.ts";
import { RunBook } from "../packages/server/src/sandboxes/fleet/run-book.ts";
import { openStore } from "../packages/server/src/store/open-store.ts";
import { root } from "./native-programs.ts";

const [home = ""] = process.argv.slice(2);
const onError = (error: unknown) => console.error(error);
await using opened = new AsyncDisposableStack();
const records = { keep: 1000, days: 1, outputBytes: 4096 };
const store = opened.use(await openStore({ path: join(home, "daemon/caisson.db") }));
let isOn = true;
const stored = opened.use(await StoredJournal.open({ audit: store.audit, batch: store.batch, onError }));
const journal: Journal = {
  last: 0,
  record: (news, facts) => stored.recordAll(isOn ? [news] : [], facts),
  recordAll: (news, facts) => stored.recordAll(isOn ? news : [], facts),
  tell: (news) => stored.tell(news),
  requireRoom: (principal) => stored.requireRoom(principal),
  read: (filter, after) => stored.read(filter, after),
  newest: (namespace, count) => stored.newest(namespace, count),
};
const approvals = opened.use(
  await ApprovalQueue.open({
    records: store.approvals,
    journal,
    clock: systemClock,
    settings: { attended: true, timeoutMs: 60_000, holdMs: 30_000 },
    onError,
  }),
);
const runs = opened.use(
  new RunBook({
    journal,
    records: store.runs,
    sandboxes: store.sandboxes,
    retention: records,
    clock: systemClock,
    onError,
  }),
);
const caisson = opened.use(openCaisson({ home, root, records, oversight: { keeper: runs }, onError }));
const fleet = opened.use(
  await SandboxFleet.open({
    maker: caisson,
    checkpoints: {
      folder: join(home, "daemon/checkpoints"),
      records: store.checkpoints,
      seeds: join(home, "daemon/seeds"),
    },
    records: store.sandboxes,
    runs,
    journal,
    clock: systemClock,
    settings: {
      engine: "container",
      image: "host",
      limits: { storageBytes: 64 * 1024 ** 2 },
      idleTimeoutMs: 1_800_000,
      lifetimeMs: 86_400_000,
      maxLifetimeMs: 86_400_000,
      maxConcurrent: 32,
      poolSize: 0,
      commands: { allow: [], deny: [], ask: [] },
      keepArtifactsMs: 0,
      startsAtOnce: 2,
      namespaceStoragePercent: 100,
    },
    approvals,
    onError,
  }),
);
const keyring = new Keyring({ keys: store.keys, journal });
const { token } = await keyring.issue({ name: "bench", namespace: "bench", role: "admin" });
const { app } = createHttpApp({
  create: (...request) => fleet.create(...request),
  fleet,
  keyring,
  audit: store.audit,
  journal,
  idempotency: store.idempotency,
  runs: store.runs,
  signer: () => caisson.signer(),
  settings: () => [],
  ready: async () => undefined as never,
  version: "0",
  rate: { perSecond: 100_000, burst: 100_000 },
  onError,
});
await app.listen({ host: "127.0.0.1", port: 0 });
opened.defer(() => app.close());
console.log(`${(app.server.address() as AddressInfo).port} ${token}`);
for await (const word of createInterface({ input: process.stdin })) {
  isOn = word === "on";
  console.log(word);
}
