import { findSession } from "../../tools/find-session.ts";
import { toolLimits } from "../../tools/limits.ts";
import type { JsonResource } from "./resource.ts";

export const status: JsonResource = {
  name: "status",
  uri: "sandbox://status",
  title: "Status",
  description: "Your session, the sandboxes and snapshots of your namespace, and the queue.",
  read: async ({ caller, session, mcp: { parts, version } }) => {
    const { fleet, snapshots, approvals } = parts;
    const limit = toolLimits.statusRows;
    const own = await findSession({ caller, parts }, session);
    const sandboxes = await fleet.list(caller, { limit });
    const taken = await snapshots.list(caller, { limit });
    const { running, waiting, maxConcurrent } = fleet.queue();
    return {
      version,
      namespace: caller.principal.namespace,
      role: caller.principal.role,
      session: {
        session_id: session,
        sandbox_id: own?.id ?? null,
        status: own?.status ?? "not used yet",
        workspace: "/workspace",
        limits: own?.limits ?? null,
      },
      sandboxes: sandboxes.map(({ id, status, engine, image, sessionKey, description }) => ({
        ...{ sandbox_id: id, status, engine, image, description, session_id: sessionKey },
      })),
      snapshots: taken.length,
      more: sandboxes.length === limit || taken.length === limit,
      queue: { running, waiting, max_concurrent: maxConcurrent },
      approvals: { attended: approvals.attended },
    };
  },
};
