import type { Events, SandboxEvent } from "../core/event.ts";
import type { Feed, FeedNews } from "../core/feed.ts";

/** Whose sandbox it is; undefined while it is nobody's. */
type NamespaceOf = (sandboxId: string) => string | undefined;

type Told = Pick<FeedNews, "type" | "data">;

/** What a daemon tells by itself, from what happens inside sandboxes. Their coming and going is told by whoever records it. */
function told(event: SandboxEvent): Told | undefined {
  const { type } = event;
  switch (type) {
    case "execution.started":
      return { type, data: { run_id: event.runId } };
    case "execution.completed":
      return { type, data: { run_id: event.runId, exit_code: event.exitCode, duration_ms: event.durationMs } };
    case "execution.failed": {
      const { runId, exitCode, durationMs, errorCode, endedBy } = event;
      const why = { error_code: errorCode, ended_by: endedBy };
      return { type, data: { run_id: runId, exit_code: exitCode, duration_ms: durationMs, ...why } };
    }
    case "execution.timeout":
      return { type, data: { run_id: event.runId, duration_ms: event.durationMs } };
    case "resource.exceeded":
      return { type, data: { run_id: event.runId, resource: event.resource } };
    case "artifact.signed":
      return { type, data: { files: event.files } };
    case "record.failed":
      return { type, data: { run_id: event.runId, reason: event.reason } };
    case "secret.echoed":
      return { type, data: { secret: event.secret, host: event.host } };
    case "secret.probing":
    case "disk.low":
    case "disk.recovered":
      return { type, data: {} };
    // The daemon's own log tells of these.
    case "egress.allowed":
    case "egress.denied":
    case "egress.failed":
    case "egress.ended":
    case "sandbox.created":
    case "sandbox.attached":
    case "sandbox.detached":
    case "sandbox.started":
    case "sandbox.stopped":
    case "sandbox.destroyed":
    case "sandbox.lost":
      return undefined;
  }
}

/** Returns what ends it. */
export function tellFeed(events: Events, namespaceOf: NamespaceOf, feed: Pick<Feed, "publish">): () => void {
  return events.subscribe((event) => {
    const news = told(event);
    const namespace = news === undefined ? undefined : namespaceOf(event.sandboxId);
    if (news !== undefined && namespace !== undefined) feed.publish({ ...news, namespace, sandboxId: event.sandboxId });
  });
}
