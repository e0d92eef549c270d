// Records as fast as it can, and waits to be killed: recorder.ts DATABASE ACKNOWLEDGED FIRST COUNT PAUSE_MS
// Each entry has a number, as the sandbox that is recorded with it; it is a line of the file ACKNOWLEDGED once the store
// has taken both.
import { openSync, writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry, sandboxRecord } from "./entries.ts";

const [path = "", acknowledged = "", first = "1", count = "1", pauseMs = "0"] = process.argv.slice(2);
const file = openSync(acknowledged, "a");
const store = await openStore({ path });
let number = Number(first) - 1;
await Promise.all(
  Array.from({ length: 32 }, async () => {
    while (number < Number(first) + Number(count) - 1) {
      const mine = ++number;
      const batch = store.batch();
      await store.sandboxes.insert(sandboxRecord(`sb-${mine}`), batch);
      batch.record(auditEntry({ namespace: `team-${mine % 3}`, detail: { number: mine } }));
      await batch.commit();
      writeSync(file, `${mine}\n`);
      if (pauseMs !== "0") await pause(Number(pauseMs));
    }
  }),
);
setInterval(() => {}, 60_000);
