import type { Caller } from "../core/principal.ts";
import type { Follow } from "./follow-changes.ts";
import { mcpLimits } from "./limits.ts";

interface Listen {
  method: "subscriptions/listen";
  params: { notifications: { resourceSubscriptions: readonly string[] } };
}

function isListen(body: unknown): body is Listen {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { notifications?: Record<string, unknown> } };
  return method === "subscriptions/listen" && Array.isArray(params?.notifications?.resourceSubscriptions);
}

/**
 * A request of 2026-07-28 to be told of changes, with only those resources left that its caller may see: the client is told
 * which these are. `end` ends the watching.
 */
export async function readListen(
  body: unknown,
  caller: Caller,
  follow: Follow,
): Promise<{ body: unknown; end: () => void }> {
  if (!isListen(body)) return { body, end: () => undefined };
  const { notifications } = body.params;
  const asked = [...new Set(notifications.resourceSubscriptions)].slice(0, mcpLimits.subscriptionsPerSession);
  const ends = new Map<string, () => void>();
  for (const uri of asked) {
    const end = typeof uri === "string" ? await follow(caller, uri).catch(() => undefined) : undefined;
    if (end !== undefined) ends.set(uri, end);
  }
  const honoured = { ...notifications, resourceSubscriptions: [...ends.keys()] };
  return {
    body: { ...body, params: { ...body.params, notifications: honoured } },
    end: () => {
      for (const end of ends.values()) end();
    },
  };
}
