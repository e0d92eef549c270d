import { Worker } from "node:worker_threads";
import type { AuditVerdict, NotedRow } from "../../core/audit.ts";
import { AppError } from "../../core/errors.ts";
import { defined } from "../../lib/defined.ts";
import { toAppError } from "../sqlite-error.ts";
import type { ErrorNote, VerifyOrder } from "../sqlite-protocol.ts";
import { workerUrl } from "../worker-url.ts";
import { headPathOf, readHead } from "./head-file.ts";
import type { AuditKey } from "./row-mac.ts";

export interface VerifyFile {
  /** Of the database; it is only read. */
  path: string;
  /** Of all who signed. */
  keys: readonly AuditKey[];
  /** Whether the head outside the database has to be there; of a copy it may not be. */
  headNeeded: boolean;
  /** The only one to verify. */
  namespace?: string;
  expected?: readonly NotedRow[];
}

/** In a thread and over a connection of its own, so that nothing waits for it. */
export async function verifyFile({ path, keys, headNeeded, namespace, expected }: VerifyFile): Promise<AuditVerdict> {
  // Before the database: the head never leads what is in it.
  const found = await readHead(headPathOf(path)).catch(() => "unreadable" as const);
  const head = found ?? (headNeeded ? "missing" : undefined);
  const verify: VerifyOrder = { keys, head, ...defined({ namespace, expected }) };
  const worker = new Worker(workerUrl, { workerData: { path, verify } });
  const { promise, resolve, reject } = Promise.withResolvers<AuditVerdict>();
  worker.on("message", (message: { verdict: AuditVerdict } | { failed: ErrorNote }) => {
    if ("verdict" in message) resolve(message.verdict);
    else reject(toAppError(message.failed));
  });
  worker.on("error", (error) => reject(new AppError("internal", "the verifying thread failed", { cause: error })));
  worker.on("exit", () => reject(new AppError("internal", "the verifying thread ended")));
  return await promise;
}
