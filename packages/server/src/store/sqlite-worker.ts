import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { AppError } from "../core/errors.ts";
import { verifyLog } from "./audit/verify-log.ts";
import { GroupCommit } from "./group-commit.ts";
import { storeLimits } from "./limits.ts";
import { prepareSchema } from "./prepare-schema.ts";
import { isBusy, noteOf } from "./sqlite-error.ts";
import type { ErrorNote, FromWorker, Reply, VerifyOrder, WorkerOptions, WorkerRequest } from "./sqlite-protocol.ts";
import { WalSync } from "./wal-sync.ts";
import { Writer } from "./writer.ts";

/** One program at a time writes the chain and signs it. The kernel ends the lock with the process, however it ends. */
function takeOwnership(path: string): DatabaseSync {
  closeSync(openSync(`${path}-owner`, "a", 0o600));
  const lock = new DatabaseSync(`${path}-owner`, { timeout: storeLimits.lockWaitMs });
  try {
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    if (isBusy(noteOf(error))) throw new AppError("conflict", `another daemon has ${path} open`);
    throw error;
  }
}

function open(path: string): DatabaseSync {
  // The log and its index get the mode that the database has.
  closeSync(openSync(path, "a", 0o600));
  const db = new DatabaseSync(path, { timeout: storeLimits.lockWaitMs, enableForeignKeyConstraints: true });
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF");
  // The log turns over when it is large, not every 1000 pages: a copy of the files taken meanwhile could be torn.
  db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON");
  // What is deleted is overwritten in the file, too: erased content of the audit log, envelopes of secrets.
  db.exec("PRAGMA secure_delete = ON");
  // The first look makes the log file be there.
  db.prepare("select count(*) from sqlite_schema").get();
  return db;
}

/** The thread that owns the database: no disk holds up the daemon's event loop. */
function serve(options: WorkerOptions): void {
  const {
    path,
    hasTables = false,
    walBytes = storeLimits.walBytes,
    transactionMs = storeLimits.transactionMs,
  } = options;
  const say = (message: FromWorker) => parentPort?.postMessage(message);
  const lock = takeOwnership(path);
  const db = open(path);
  let failure: ErrorNote | undefined;
  let turnedOverMs = Number.NEGATIVE_INFINITY;
  const fail = (error: Error) => {
    failure = { message: `the disk did not take what was written: ${error.message}`, refused: "unavailable" };
    say({ failed: failure });
  };
  const wal = new WalSync(path, fail);
  const turnOver = () => {
    if (db.isTransaction || wal.sizeBytes < walBytes || performance.now() - turnedOverMs < storeLimits.walRetryMs)
      return;
    turnedOverMs = performance.now();
    try {
      db.exec(`PRAGMA busy_timeout = ${storeLimits.walTryMs}; PRAGMA wal_checkpoint(TRUNCATE)`);
    } catch (error) {
      say({ trouble: noteOf(error) }); // for want of room in the database: what is committed is in the log, which grows meanwhile
    }
    db.exec(`PRAGMA busy_timeout = ${storeLimits.lockTryMs}`);
  };
  const committed = () => {
    wal.committed();
    turnOver();
  };
  const writer = new Writer(db);
  if (hasTables && prepareSchema(db)) committed();
  db.exec(`PRAGMA busy_timeout = ${storeLimits.lockTryMs}`);
  const commits = new GroupCommit({
    writer,
    transactionMs,
    reply: (replies: Reply[]) => say({ replies }),
    committed,
    other: ({ id, op }) =>
      wal.whenSynced(() => {
        if (op === "close") {
          commits.close();
          wal.close();
          db.close();
          lock.close();
        }
        say({ replies: [{ id, answer: null }] });
        if (op === "close") parentPort?.close();
      }),
  });
  const take = (requests: WorkerRequest[]) => {
    const error = failure;
    if (error === undefined) commits.push(requests);
    else say({ replies: requests.map(({ id }) => ({ id, error })) });
  };
  parentPort?.on("message", (requests: WorkerRequest[]) => {
    take(requests);
    // All that has arrived meanwhile shares the commit.
    for (;;) {
      const more = parentPort === null ? undefined : receiveMessageOnPort(parentPort);
      if (more === undefined) break;
      take(more.message);
    }
    commits.run();
  });
  say({ ready: true });
  // What its start has left is a third of this thread's memory, and V8 would keep it until it is asked for more.
  globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
}

function serveReads(path: string): void {
  const say = (message: FromWorker) => parentPort?.postMessage(message);
  const db = new DatabaseSync(path, { readOnly: true, timeout: storeLimits.lockWaitMs });
  const close = ({ id }: WorkerRequest) => {
    db.close();
    say({ replies: [{ id, answer: null }] });
    parentPort?.close();
  };
  const reads = new GroupCommit({
    writer: new Writer(db),
    transactionMs: storeLimits.transactionMs,
    reply: (replies) => say({ replies }),
    committed: () => {},
    other: close,
  });
  parentPort?.on("message", (requests: WorkerRequest[]) => {
    reads.push(requests);
    reads.run();
  });
  say({ ready: true });
}

function verifyOnly(path: string, order: VerifyOrder): void {
  const db = new DatabaseSync(path, { readOnly: true, timeout: storeLimits.lockWaitMs });
  parentPort?.postMessage({ verdict: verifyLog(db, order) });
  db.close();
}

const options: WorkerOptions = workerData;
try {
  if (options.verify !== undefined) verifyOnly(options.path, options.verify);
  else if (options.readOnly) serveReads(options.path);
  else serve(options);
} catch (error) {
  parentPort?.postMessage({ failed: noteOf(error) } satisfies FromWorker);
}
