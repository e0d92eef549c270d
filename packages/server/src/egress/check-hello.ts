import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { gateLimits } from "../core/gate-limits.ts";
import { readClientHello } from "./client-hello.ts";
import { readUntil } from "./read-until.ts";

/** Why a connection is not TLS to that host; undefined when it is. The hello stays to be sent on (NET-07). */
export async function objectToHello(client: Duplex, host: string): Promise<string | undefined> {
  const objection = await readUntil<string>(client, gateLimits.greetingMs, (bytes) => {
    const hello = readClientHello(bytes);
    if (hello.state === "more") return "more";
    if (hello.state === "refused") return { value: hello.reason, used: 0 };
    return { value: object(host, hello.serverName), used: 0 };
  });
  return objection === undefined ? "no ClientHello came" : objection === "" ? undefined : objection;
}

/** A client that was given an address names no host. */
function object(host: string, serverName: string | null): string {
  if (serverName === (isIP(host) === 0 ? host : null)) return "";
  return serverName === null ? "its ClientHello names no host" : `its ClientHello names ${serverName}`;
}
