import type { ServerContext } from "@modelcontextprotocol/server";

/** How a call tells what goes on, where its client asked for that: one notification under way, what comes meanwhile waits as one. */
export function progressOf({ mcpReq }: ServerContext): ((message: string) => void) | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  let waiting = "";
  let busy = false;
  const tell = async (): Promise<void> => {
    busy = true;
    while (waiting !== "") {
      const message = waiting;
      waiting = "";
      progress += 1;
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, message } });
    }
    busy = false;
  };
  return (message) => {
    waiting += message;
    // A client that is gone has its call aborted.
    if (!busy) tell().catch(() => undefined);
  };
}
