/** Which host a request is for, by what cannot be forged: the proxy's target, or the address that was connected to. */
import type { IncomingMessage } from "node:http";
import type { AllowVerdict, Destination } from "../core/egress.ts";
import { valuesOf } from "../http-over/fields.ts";
import { parseAbsolute, parseAuthority } from "./proxy-target.ts";
import { readHost } from "./read-host.ts";

export interface HttpTarget {
  destination: Destination;
  path: string;
  /** The Host field that the server gets. */
  authority: string;
}

export type TargetResult = { target: HttpTarget; problem?: undefined } | { problem: string; target?: undefined };

/** To the proxy: the target decides, and Host is made of it. */
export function proxyTarget({ url = "" }: IncomingMessage): TargetResult {
  const read = parseAbsolute(url);
  if (read !== undefined) {
    const { host, port, path, authority } = read;
    return { target: { destination: { host, port }, path, authority } };
  }
  if (/^https:/i.test(url)) return { problem: "https goes through this proxy by CONNECT" };
  return { problem: "this is a proxy: send http://host/path, or CONNECT" };
}

/** To a name's own address: Host must be that name. */
export function directTarget(
  { url = "", rawHeaders }: IncomingMessage,
  destination: Destination,
  impliedPort: number,
): TargetResult {
  const hosts = valuesOf(rawHeaders, "host");
  if (hosts.length > 1) return { problem: "more than one Host" };
  if (!/^(\/[\x21-\x7e]*|\*)$/.test(url)) return { problem: "the target is not a path" };
  const [authority = destination.host] = hosts;
  const said = parseAuthority(authority, impliedPort);
  const read = readHost(said?.host ?? "");
  const same = "host" in read && read.host === destination.host;
  if (said === undefined || !same || (said.port !== destination.port && said.port !== impliedPort))
    return { problem: `Host is ${JSON.stringify(authority)}, but the connection is to ${destination.host}` };
  return { target: { destination, path: url, authority } };
}

/** Whether one of the rules lets this request out (NET-08). */
export function fitsRules({ rules }: AllowVerdict, method: string, path: string): boolean {
  return rules.some(
    (rule) =>
      (rule.methods === undefined || rule.methods.includes(method)) &&
      (rule.paths === undefined || rule.paths.some((pattern) => fitsPath(pattern, path))),
  );
}

/** Without its query. A path that servers may read in more than one way fits no pattern. */
function fitsPath(pattern: string, target: string): boolean {
  const [path = ""] = target.split("?", 1);
  if (/\/\.{1,2}(\/|$)|\/\/|%2e|%2f|%5c|\\|;/i.test(path)) return false;
  return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}
