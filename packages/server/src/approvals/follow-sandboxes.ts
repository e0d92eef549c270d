import type { Journal } from "../core/journal.ts";
import type { ApprovalQueue } from "./approval-queue.ts";

/** Withdraws the questions of sandboxes that are destroyed, until it is disposed of. */
export function followSandboxes(
  journal: Pick<Journal, "read">,
  queue: Pick<ApprovalQueue, "forget" | "askers">,
  isThere: (sandboxId: string) => boolean,
): Disposable {
  const reader = journal.read({ types: ["sandbox.destroyed"] });
  const follow = async () => {
    for await (const event of reader) {
      const gone = event.type === "events.lag" ? queue.askers().filter((id) => !isThere(id)) : [event.sandbox_id];
      for (const id of gone) if (id !== null) await queue.forget(id);
    }
  };
  void follow();
  return reader;
}
