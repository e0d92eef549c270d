import { openCaisson } from "../../packages/server/src/app.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { root } from "../harness.ts";

/** An owner for churn.test.ts: makes sandboxes, keeps them busy, and tells their ids, until somebody kills it. */
const [home, count] = process.argv.slice(2);
const caisson = openCaisson({ home: home ?? "", root });
const limits = { memoryBytes: 64 * 1024 ** 2, storageBytes: 16 * 1024 ** 2 };
for (let i = 0; i < Number(count); i++) {
  const engine: EngineName = i % 4 === 0 ? "gvisor" : "container";
  const sandbox = await caisson.createSandbox({ engine, limits });
  const run = await sandbox.start({
    command: "while :; do echo busy; sleep 0.05; done",
    limits: { timeoutMs: 0 },
    onOutput: () => undefined,
  });
  run.result.catch(() => {}); // it ends with the sandbox, whoever ends that
  console.log(sandbox.id);
}
console.log("all");
setInterval(() => {}, 1000);
