// Records an entry and tells how its intake is written, and what the store has when it is opened again: mapped.ts FOLDER
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry } from "./entries.ts";

const path = join(process.argv[2] ?? "", "caisson.db");
const store = await openStore({ path });
await store.audit.record(auditEntry({ detail: { text: "here" } }));
const isMemory = readFileSync("/proc/self/maps", "utf8").includes(`${path}-intake`);
const isInFile = readFileSync(`${path}-intake`).includes("here");
await store[Symbol.asyncDispose]();
await using again = await openStore({ path });
const rows = await again.audit.search({});
console.log(JSON.stringify({ isMemory, isInFile, found: rows.map(({ detail }) => detail.text) }));
