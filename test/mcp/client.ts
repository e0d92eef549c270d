import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Role } from "../../packages/server/src/core/scope.ts";
import { defined } from "../../packages/server/src/lib/defined.ts";
import type { TestServer } from "../http/server.ts";

export const eras = ["2025-11-25", "2026-07-28"] as const;
export type Era = (typeof eras)[number];

/** A client of the official SDK that speaks one revision, with a new key. */
export async function connectClient(
  server: TestServer,
  era: Era,
  {
    role = "agent",
    namespace = "default",
    capabilities = {},
    sets = "all",
    scopes,
  }: { role?: Role; namespace?: string; capabilities?: object; sets?: string; scopes?: readonly string[] } = {},
): Promise<Client> {
  const { token } = await server.keyring.issue({ name: role, namespace, role, ...defined({ scopes }) });
  const mode = era === "2025-11-25" ? "legacy" : { pin: era };
  const client = new Client({ name: "test", version: "1" }, { capabilities, versionNegotiation: { mode } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${server.base}/mcp?tools=${sets}`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  return client;
}
