import type { McpClient, McpParts } from "./server.ts";
import { ToolCalls } from "./tool-calls.ts";
import { Traces } from "./traces.ts";

/** What all servers of a process share: the log that they show, and the calls that wait for answers. */
export function openMcp(
  parts: Omit<McpParts, "traces" | "calls">,
  client: Pick<McpClient, "caller">,
): McpParts & AsyncDisposable {
  const traces = new Traces(parts.parts.feed);
  const calls = new ToolCalls(client);
  return {
    ...parts,
    traces,
    calls,
    [Symbol.asyncDispose]: async () => {
      calls[Symbol.dispose]();
      await traces[Symbol.asyncDispose]();
    },
  };
}
