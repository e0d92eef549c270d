// Adds sandboxes, each with its entry, and is killed as the last is acknowledged: leaver.ts DATABASE FIRST COUNT CHARACTERS
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry, sandboxRecord } from "./entries.ts";

const [path = "", first = "1", count = "1", characters = "0"] = process.argv.slice(2);
const store = await openStore({ path });
// Or what is in the intake might be brought in on a busy machine between the last acknowledgement and the end, or be for the store's thread.
if (characters === "0") {
  globalThis.setTimeout = (() => undefined) as never;
  performance.now = () => 0;
}
const env = { LONG: "x".repeat(Number(characters)) };
for (let number = Number(first); number < Number(first) + Number(count); number++) {
  const id = `s${number}`;
  const writes = [
    store.sandboxes.insert(sandboxRecord(id, { createdAtMs: number, env })),
    store.audit.record(auditEntry({ sandboxId: id })),
  ];
  await Promise.all(writes);
}
process.kill(process.pid, "SIGKILL");
