import type { Changes } from "../mcp-protocol/changes.ts";
import type { Follow } from "../mcp-protocol/follow-changes.ts";
import { toProtocolError } from "../mcp-protocol/protocol-error.ts";
import { FileChanges } from "./file-changes.ts";
import { FixedChanges } from "./fixed-changes.ts";
import type { McpClient, McpParts } from "./server.ts";
import { ToolCalls } from "./tool-calls.ts";

/** What all servers of a process share: the calls that wait for answers, and the files that are watched. */
export function openMcp(
  parts: Omit<McpParts, "calls">,
  client: Pick<McpClient, "caller">,
  changes: Changes,
): McpParts & { follow: Follow } & AsyncDisposable {
  const calls = new ToolCalls(client);
  const tell = (namespace: string, uri: string) => changes.tell(namespace, { kind: "resource_updated", uri });
  const files = new FileChanges(parts.parts, tell);
  const fixed = new FixedChanges(parts.traces, tell);
  return {
    ...parts,
    follow: async (caller, uri) => {
      try {
        return fixed.has(uri) ? fixed.follow(caller, uri) : await files.follow(caller, uri);
      } catch (error) {
        throw toProtocolError(parts.report(error), uri);
      }
    },
    calls,
    [Symbol.asyncDispose]: async () => {
      calls[Symbol.dispose]();
      fixed[Symbol.dispose]();
      await files[Symbol.asyncDispose]();
    },
  };
}
