import { expect, it } from "vitest";
import { EventBus } from "./event-bus.ts";
import { EventFeed } from "./event-feed.ts";
import { tellFeed } from "./tell-feed.ts";

it("[EVT-01] tells what happens in a sandbox to its namespace, and of one without a namespace to nobody", async () => {
  const events = new EventBus();
  using feed = new EventFeed();
  const end = tellFeed(events, (id) => (id === "a" ? "tenant" : undefined), feed);
  using reader = feed.read();
  const result = { runId: "1", exitCode: 3, durationMs: 5, errorCode: null, endedBy: null };
  events.emit({ type: "execution.failed", sandboxId: "b", ...result });
  events.emit({ type: "sandbox.created", sandboxId: "a", engine: "gvisor" });
  events.emit({ type: "execution.failed", sandboxId: "a", ...result });
  expect((await reader.next()).value).toMatchObject({
    type: "execution.failed",
    namespace: "tenant",
    sandboxId: "a",
    data: { run_id: "1", exit_code: 3, duration_ms: 5, error_code: null, ended_by: null },
  });
  end();
  events.emit({ type: "execution.started", sandboxId: "a", runId: "2" });
  expect(feed.publish({ type: "key.created", namespace: "tenant", sandboxId: null, data: {} }).id).toBe(2);
});
