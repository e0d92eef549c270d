import type { JsonResource } from "./resource.ts";

export const logs: JsonResource = {
  name: "logs",
  uri: "sandbox://logs",
  title: "Log",
  description: "The last 100 events of your namespace, with time, severity and duration.",
  read: async ({ caller, mcp }) => ({ traces: await mcp.traces.of(caller.principal.namespace) }),
};
