// Opens a store, writes to it and closes it: open-code.ts DATABASE. Prints `ok`, or the code of the error.
import { AppError } from "../../packages/server/src/core/errors.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { auditEntry } from "./entries.ts";

try {
  await using store = await openStore({ path: process.argv[2] ?? "", onError: () => {} });
  await store.audit.record(auditEntry());
  console.log("ok");
} catch (error) {
  console.log(error instanceof AppError ? error.code : String(error));
}
