import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { readClientHello } from "./client-hello.ts";
import { gateLimits } from "./gate-limits.ts";
import { readUntil } from "./read-until.ts";

/** What a program offers in its hello, or why that is not TLS to the host it asked for. */
export type Hello = { objection: string } | { objection?: undefined; protocols: readonly string[] };

/** The hello stays to be read again, by the host or by who answers in its place (NET-07). */
export async function checkHello(client: Duplex, host: string): Promise<Hello> {
  const hello = await readUntil<Hello>(client, gateLimits.greetingMs, (bytes) => {
    const read = readClientHello(bytes);
    if (read.state === "more") return "more";
    if (read.state === "refused") return { value: { objection: read.reason }, used: 0 };
    const objection = object(host, read.serverName);
    return { value: objection === undefined ? { protocols: read.protocols } : { objection }, used: 0 };
  });
  return hello ?? { objection: "no ClientHello came" };
}

/** A client that was given an address names no host. */
function object(host: string, serverName: string | null): string | undefined {
  if (serverName === (isIP(host) === 0 ? host : null)) return undefined;
  return serverName === null ? "its ClientHello names no host" : `its ClientHello names ${serverName}`;
}
