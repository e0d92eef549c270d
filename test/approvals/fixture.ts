import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { ApprovalQueue, type ApprovalQueueParts } from "../../packages/server/src/approvals/approval-queue.ts";
import type { ApprovalRecords, ApprovalSettings, Question } from "../../packages/server/src/core/approval.ts";
import type { JournalEvent } from "../../packages/server/src/core/journal.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import type { Role } from "../../packages/server/src/core/scope.ts";
import type { StoredJournal } from "../../packages/server/src/journal/stored-journal.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import type { Store } from "../../packages/server/src/store/store.ts";
import { journalOf } from "../journal.ts";

export const as = (role: Role, namespace = "default"): Caller => ({
  principal: { id: `key-${role}-${namespace}`, name: role, namespace, role },
  requestId: "request",
});

export function question(more: Partial<Question> = {}): Question {
  return {
    kind: "egress",
    namespace: "default",
    sandboxId: "box-1",
    subject: "api.example.com:443",
    detail: { host: "api.example.com", port: 443 },
    ...more,
  };
}

export const usual: ApprovalSettings = { attended: true, timeoutMs: 60_000, holdMs: 30_000 };

/** Records that are slow, or fail. */
type Wrap = (records: ApprovalRecords) => ApprovalRecords;

/** An approval queue over a real store and journal. */
export interface TestQueue extends AsyncDisposable {
  queue: ApprovalQueue;
  store: Store;
  journal: StoredJournal;
  errors: unknown[];
  events(): JournalEvent[];
  /** Types of what the log says. */
  logged(): Promise<string[]>;
}

export class QueueHome implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<QueueHome> {
    return new QueueHome(await mkdtemp("/var/tmp/caisson-approvals-"));
  }

  async open({ wrap, ...parts }: Partial<ApprovalQueueParts> & { wrap?: Wrap } = {}): Promise<TestQueue> {
    const store = await openStore({ path: join(this.path, "caisson.db") });
    const told: JournalEvent[] = [];
    const journal = await journalOf(store, (event) => told.push(event));
    const errors: unknown[] = [];
    const queue = await ApprovalQueue.open({
      records: wrap?.(store.approvals) ?? store.approvals,
      journal,
      clock: systemClock,
      settings: usual,
      onError: (error) => void errors.push(error),
      ...parts,
    });
    return {
      queue,
      store,
      journal,
      errors,
      events: () => told,
      logged: async () => (await store.audit.search({ after: 0 })).map(({ type }) => type),
      [Symbol.asyncDispose]: async () => {
        await queue[Symbol.asyncDispose]();
        await journal[Symbol.asyncDispose]();
        await store[Symbol.asyncDispose]();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
