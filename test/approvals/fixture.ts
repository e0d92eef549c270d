import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { ApprovalDesk, type DeskParts } from "../../packages/server/src/approvals/desk.ts";
import type { ApprovalSettings, Question } from "../../packages/server/src/core/approval.ts";
import { systemClock } from "../../packages/server/src/core/clock.ts";
import type { FeedEvent } from "../../packages/server/src/core/feed.ts";
import type { Caller, Role } from "../../packages/server/src/core/principal.ts";
import type { Store } from "../../packages/server/src/core/store.ts";
import { EventFeed } from "../../packages/server/src/events/event-feed.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";

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

/** A desk over a real store, log and feed. */
export interface TestDesk extends AsyncDisposable {
  desk: ApprovalDesk;
  store: Store;
  feed: EventFeed;
  errors: unknown[];
  events(): FeedEvent[];
  /** Types of what the log says. */
  logged(): Promise<string[]>;
}

export class DeskHome implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<DeskHome> {
    return new DeskHome(await mkdtemp("/var/tmp/caisson-approvals-"));
  }

  async open(parts: Partial<DeskParts> = {}): Promise<TestDesk> {
    const store = await openStore({ path: join(this.path, "caisson.db") });
    const feed = new EventFeed();
    const told: FeedEvent[] = [];
    const publish: EventFeed["publish"] = (news) => {
      const event = feed.publish(news);
      told.push(event);
      return event;
    };
    const errors: unknown[] = [];
    const desk = await ApprovalDesk.open({
      records: store.approvals,
      audit: store.audit,
      feed: { publish },
      clock: systemClock,
      settings: usual,
      onError: (error) => void errors.push(error),
      ...parts,
    });
    return {
      desk,
      store,
      feed,
      errors,
      events: () => told,
      logged: async () => (await store.audit.search({ after: 0 })).map(({ type }) => type),
      [Symbol.asyncDispose]: async () => {
        await desk[Symbol.asyncDispose]();
        feed[Symbol.dispose]();
        await store[Symbol.asyncDispose]();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
