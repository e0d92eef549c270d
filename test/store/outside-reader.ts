// Another program that reads the store: outside-reader.ts DATABASE KEY ACKNOWLEDGED CHECKS
// Opens the database, read-only, each time after the recorder has acknowledged one more, and looks for what was
// acknowledged last. Prints how often it looked; what it did not find ends it.
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { readAuditKey } from "../../packages/server/src/store/audit/row-mac.ts";
import { verifyLog } from "../../packages/server/src/store/audit/verify-log.ts";

const [path = "", keyPath = "", acknowledgedPath = "", checks = "1"] = process.argv.slice(2);
const keys = [readAuditKey(readFileSync(keyPath, "utf8"))];

/** The last number of a whole line. */
function lastAcknowledged(): number {
  return Number(readFileSync(acknowledgedPath, "utf8").split("\n").at(-2) ?? 0);
}

function look(number: number): void {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  const rows = "select 1 from audit where namespace = ? and detail = ?";
  if (db.prepare(rows).get(`team-${number % 3}`, `{"number":${number}}`) === undefined)
    throw new Error(`entry ${number} was acknowledged and is not there`);
  if (db.prepare("select 1 from sandboxes where id = ?").get(`sb-${number}`) === undefined)
    throw new Error(`sandbox sb-${number} was acknowledged and is not there`);
  const { problems } = verifyLog(db, { keys, head: undefined });
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  db.close();
}

let looked = 0;
for (let last = 0; looked < Number(checks); ) {
  const number = lastAcknowledged();
  if (number === last) {
    await pause(1);
    continue;
  }
  look(number);
  last = number;
  looked++;
}
console.log(looked);
