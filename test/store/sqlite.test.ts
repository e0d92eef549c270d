import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { storeContract } from "./contract.ts";

storeContract("SQLite", async () => {
  const folder = await mkdtemp("/var/tmp/caisson-store-");
  const clock = { nowMs: 1_750_000_000_000 };
  return {
    clock,
    open: () => openStore({ path: join(folder, "caisson.db"), clock: { ...systemClock, wallMs: () => clock.nowMs } }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
});
