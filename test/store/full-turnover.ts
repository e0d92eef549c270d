// Fills the disk so that the log has room and what it turns over into has not: full-turnover.ts FOLDER. Prints what became of it.
import { rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "../../packages/server/src/core/errors.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry } from "./entries.ts";

const [folder = ""] = process.argv.slice(2);
const path = join(folder, "caisson.db");
const walBytes = 3 * 2 ** 20;
const told: string[] = [];
const onError = (error: unknown) => told.push(error instanceof AppError ? error.code : String(error));
const store = await openStore({ path, walBytes, onError });
const acknowledged: number[] = [];
const text = "x".repeat(4_000);
let number = 0;
const record = async () => {
  number++;
  await store.audit.record(auditEntry({ detail: { number, text } }));
  acknowledged.push(number);
  await store.audit.search({ limit: 1 }); // is in the database then
};
while (statSync(`${path}-wal`).size < walBytes - 2 ** 18) await record();
const { bfree, bsize } = statfsSync(folder);
writeFileSync(join(folder, "ballast"), Buffer.alloc(bfree * bsize - 2 ** 19));
// Past the size at which it turns over, which takes the rest of the disk.
let failure: string | undefined;
while (failure === undefined) {
  await record().catch((error) => {
    failure = error.code;
  });
}
const isRead = (await store.audit.search({ limit: 1 })).length === 1;
rmSync(join(folder, "ballast"));
for (let more = 0; more < 10; more++) await record();
const found: unknown[] = [];
for (let after = 0; ; ) {
  const rows = await store.audit.search({ after, limit: 500 });
  if (rows.length === 0) break;
  found.push(...rows.map(({ detail }) => detail.number));
  after = rows.at(-1)?.position ?? 0;
}
const { problems } = await store.audit.verify();
await store[Symbol.asyncDispose]();
const isWhole = JSON.stringify(found) === JSON.stringify(acknowledged);
console.log(JSON.stringify({ failure, told: [...new Set(told)], isRead, isWhole, problems }));
