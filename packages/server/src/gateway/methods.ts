import type { ServerEra } from "../core/server.ts";
import type { Notification, Request } from "./message.ts";

interface MethodRow {
  eras: readonly ServerEra[];
  /** True if a key that is limited to tools of the server may send it. */
  forTools?: true;
  /** Field of `params` that names what is meant: a tool, a prompt, a resource. */
  name?: "name" | "uri";
}

const both: readonly ServerEra[] = ["legacy", "modern"];
const legacy: readonly ServerEra[] = ["legacy"];
const modern: readonly ServerEra[] = ["modern"];

/** All that passes. A method without a row is refused, also one that a newer revision knows (hazard 25). */
const methods = {
  clientRequests: {
    initialize: { eras: legacy, forTools: true },
    ping: { eras: legacy, forTools: true },
    "server/discover": { eras: modern, forTools: true },
    "logging/setLevel": { eras: legacy, forTools: true },
    "tools/list": { eras: both, forTools: true },
    "tools/call": { eras: both, forTools: true, name: "name" },
    "resources/list": { eras: both },
    "resources/templates/list": { eras: both },
    "resources/read": { eras: both, name: "uri" },
    "resources/subscribe": { eras: legacy },
    "resources/unsubscribe": { eras: legacy },
    "prompts/list": { eras: both },
    "prompts/get": { eras: both, name: "name" },
    "completion/complete": { eras: both },
    "subscriptions/listen": { eras: modern, forTools: true },
  },
  clientNotifications: {
    "notifications/initialized": { eras: legacy, forTools: true },
    "notifications/cancelled": { eras: legacy, forTools: true },
    "notifications/progress": { eras: legacy, forTools: true },
    "notifications/roots/list_changed": { eras: legacy, forTools: true },
  },
  serverRequests: {
    ping: { eras: legacy },
    "sampling/createMessage": { eras: legacy },
    "elicitation/create": { eras: legacy },
    "roots/list": { eras: legacy },
  },
  serverNotifications: {
    "notifications/cancelled": { eras: both },
    "notifications/progress": { eras: both },
    "notifications/message": { eras: both },
    "notifications/resources/updated": { eras: both },
    "notifications/resources/list_changed": { eras: both },
    "notifications/tools/list_changed": { eras: both },
    "notifications/prompts/list_changed": { eras: both },
    "notifications/elicitation/complete": { eras: legacy },
    "notifications/subscriptions/acknowledged": { eras: modern },
  },
} as const satisfies Record<string, Record<string, MethodRow>>;

export function rowOf(message: Request | Notification, from: "client" | "server"): MethodRow | undefined {
  const kind = "id" in message ? "Requests" : "Notifications";
  const rows: Readonly<Record<string, MethodRow>> = methods[`${from}${kind}`];
  return Object.hasOwn(rows, message.method) ? rows[message.method] : undefined;
}

/** The tool, prompt or resource that a client's request names. Taken from the body: a header is only checked against it. */
export function named(message: Request | Notification): string | undefined {
  const field = rowOf(message, "client")?.name;
  const value = field === undefined ? undefined : message.params?.[field];
  return typeof value === "string" ? value : undefined;
}
