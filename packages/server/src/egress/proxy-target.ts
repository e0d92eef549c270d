/** Where a request to an HTTP proxy wants to go (RFC 9112, 3.2). What is not plainly one of its forms is refused. */
import type { Destination } from "../core/egress.ts";

/** `host:port` of CONNECT, and of a Host field. IPv6 addresses stand in brackets. */
export function parseAuthority(text: string, defaultPort?: number): Destination | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:@/?#[\]\\%]+))(?::(\d{1,5}))?$/.exec(text);
  if (match === null) return undefined;
  const host = match[1] ?? match[2] ?? "";
  const port = match[3] === undefined ? defaultPort : Number(match[3]);
  if (port === undefined || port < 1 || port > 65_535 || !/^[\x21-\x7e]+$/.test(host)) return undefined;
  return { host, port };
}

export interface AbsoluteTarget extends Destination {
  /** Path and query, as the server gets it. */
  path: string;
  /** As it stands in the Host field. */
  authority: string;
}

/** `http://host[:port]/path`; other schemes go by CONNECT. */
export function parseAbsolute(target: string): AbsoluteTarget | undefined {
  const match = /^http:\/\/([^/?#]*)([/?][\x21-\x7e]*)?$/i.exec(target);
  const authority = match?.[1] ?? "";
  const destination = parseAuthority(authority, 80);
  if (destination === undefined || target.includes("#")) return undefined;
  const path = match?.[2] ?? "/";
  return { ...destination, authority, path: path.startsWith("/") ? path : `/${path}` };
}
