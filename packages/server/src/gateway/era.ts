import type { ServerContact, ServerEra } from "../core/server.ts";
import { RpcRefusal, rpcCodes } from "./rpc-error.ts";

const means: Readonly<Record<ServerEra, string>> = {
  legacy: "opens a session with initialize",
  modern: "sends its version with each request, without a session",
};

/** Refuses a client of the other era, in the form that its automatic negotiation understands. */
export function requireEra(contact: ServerContact | undefined, asked: ServerEra, requested: unknown): void {
  if (contact === undefined || contact.era === asked) return;
  const { era, protocolVersion } = contact;
  throw new RpcRefusal(
    rpcCodes.unsupportedVersion,
    `this server speaks protocol version ${protocolVersion}, and the request is of another kind`,
    {
      hint: `use a client that ${means[era]}`,
      data: {
        supported: [protocolVersion],
        ...(typeof requested === "string" ? { requested: requested.slice(0, 64) } : {}),
      },
    },
  );
}
