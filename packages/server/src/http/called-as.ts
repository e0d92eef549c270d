import type { IncomingMessage } from "node:http";

/** How a client reached this server. */
export interface CalledAs {
  /** Each name that the request gives for this server: all must be known. */
  hosts: readonly (string | undefined)[];
  /** Origin of pages that this server itself serves to the client. */
  origin: string;
}

/** The nearest proxy writes the last value. */
function lastOf(header: string | string[] | undefined): string | undefined {
  return [header].flat().at(-1)?.split(",").at(-1)?.trim();
}

/**
 * Finds the scheme and host name that a client used. X-Forwarded-Proto and X-Forwarded-Host count only on a connection from a
 * trusted proxy (S111): anyone can send them. `Forwarded` never counts: proxies that do not write it pass on a client's.
 */
export function calledAs({ headers, socket }: IncomingMessage, isProxy: (address: string) => boolean): CalledAs {
  const isForwarded = socket.remoteAddress !== undefined && isProxy(socket.remoteAddress);
  const said = isForwarded ? lastOf(headers["x-forwarded-proto"])?.toLowerCase() : undefined;
  const name = isForwarded ? lastOf(headers["x-forwarded-host"]) : undefined;
  const own = "encrypted" in socket && socket.encrypted === true ? "https" : "http";
  const scheme = said === "https" || said === "http" ? said : own;
  return {
    hosts: name === undefined ? [headers.host] : [headers.host, name],
    origin: `${scheme}://${name ?? headers.host}`,
  };
}
