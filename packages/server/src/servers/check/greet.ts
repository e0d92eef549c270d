import { AppError } from "../../core/errors.ts";
import type { ServerContact } from "../../core/server.ts";
import { serverLimits } from "../limits.ts";
import type { Answer, Peer } from "./peer.ts";

type Greeting = Pick<ServerContact, "era" | "protocolVersion">;

const legacy = "2025-11-25";
const modern = "2026-07-28";
const revision = /^\d{4}-\d{2}-\d{2}$/;
const clientInfo = { name: "caisson", version: "1" };
const envelope = {
  _meta: {
    "io.modelcontextprotocol/protocolVersion": modern,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": clientInfo,
  },
};
const unknownMethod = -32601;

/** Asks as a client of 2025-11-25 does first; a server that refuses that is asked as one of 2026-07-28. */
export async function greet(peer: Peer): Promise<Greeting> {
  const first = await peer.ask("initialize", { protocolVersion: legacy, capabilities: {}, clientInfo });
  if ("result" in first) {
    const { protocolVersion } = first.result;
    if (typeof protocolVersion !== "string" || !revision.test(protocolVersion))
      throw notReady(`it answers initialize without a protocol version`);
    peer.agree(protocolVersion, false);
    await peer.tell("notifications/initialized");
    return { era: "legacy", protocolVersion };
  }
  peer.agree(modern, true);
  const found = await peer.ask("server/discover", envelope);
  if ("error" in found) throw notReady(`it refuses initialize: ${first.error.message}`);
  const { supportedVersions } = found.result;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(modern))
    throw notReady(`it does not speak ${modern}`);
  return { era: "modern", protocolVersion: modern };
}

/** Counts the tools over all pages of its list; a server without tools has none. */
export async function countTools(peer: Peer, { era }: Greeting): Promise<number> {
  let tools = 0;
  let cursor: string | undefined;
  for (let page = 0; page < serverLimits.checkPages; page++) {
    const params = { ...(era === "modern" ? envelope : {}), ...(cursor === undefined ? {} : { cursor }) };
    const listed: Answer = await peer.ask("tools/list", params);
    if ("error" in listed) {
      if (listed.error.code === unknownMethod) return tools;
      throw notReady(`it answers tools/list with an error: ${listed.error.message}`);
    }
    if (!Array.isArray(listed.result.tools)) throw notReady("its answer to tools/list has no list of tools");
    tools += listed.result.tools.length;
    if (tools > serverLimits.checkTools) throw notReady(`it lists more than ${serverLimits.checkTools} tools`);
    const { nextCursor } = listed.result;
    if (typeof nextCursor !== "string" || nextCursor === "") return tools;
    cursor = nextCursor;
  }
  throw notReady(`its list of tools has more than ${serverLimits.checkPages} pages`);
}

function notReady(why: string): AppError {
  return new AppError("invalid", `the server is not ready: ${why}`);
}
