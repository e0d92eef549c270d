import type { JsonResource } from "./resource.ts";

export const logs: JsonResource = {
  name: "logs",
  uri: "sandbox://logs",
  title: "Log",
  description: "The last 100 things that happened in your namespace: when, how bad, what, how long it took.",
  read: async ({ caller, mcp }) => ({ traces: await mcp.traces.of(caller.principal.namespace) }),
};
