// Fills the disk that a store lies on, in a mount of its own: full-store.ts FOLDER. Prints what became of each step.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "../../packages/server/src/core/errors.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry, sandboxRecord } from "./entries.ts";

const [folder = ""] = process.argv.slice(2);
const ballast = join(folder, "ballast");

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "ok";
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
}

function fillDisk(): void {
  for (let bytes = 1 << 20; bytes >= 1; bytes >>= 1) {
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(bytes), { flag: "a" });
    } catch {
      // Full for pieces of this size.
    }
  }
}

const store = await openStore({ path: join(folder, "caisson.db"), onError: () => {} });
await store.sandboxes.insert(sandboxRecord("one"));
fillDisk();
let recordedBefore = 0;
let failure = "ok";
// What the log had room for in the pages it has already may still fit.
while (failure === "ok") {
  failure = await codeOf(store.audit.record(auditEntry({ detail: { text: "x".repeat(1_000) } })));
  if (failure === "ok") recordedBefore++;
}
const changed = await codeOf(store.sandboxes.update("one", { failure: "x".repeat(100_000) }));
const read = await store.sandboxes.get("one");
const rowsWhileFull = (await store.audit.search({ after: 0, limit: 1_000 })).length;
rmSync(ballast);
const again = await codeOf(store.audit.record(auditEntry()));
const changedAgain = await codeOf(store.sandboxes.update("one", { status: "stopped" }));
const verdict = await store.audit.verify();
await store[Symbol.asyncDispose]();
console.log(
  JSON.stringify({
    failure,
    changed,
    read: read?.status,
    nothingTooMuch: rowsWhileFull <= recordedBefore,
    again,
    changedAgain,
    rows: verdict.rows - recordedBefore,
    problems: verdict.problems,
  }),
);
