import { gatePlaces } from "./gate-limits.ts";

const proxy = `http://${gatePlaces.address}:${gatePlaces.proxyPort}`;
const none = "localhost,127.0.0.1,::1";

/**
 * Where programs look for a proxy, which differ in case (NET-04). The one for all schemes is HTTP's too: clients with an
 * optional SOCKS part stop when they are told of one and lack it.
 */
const variables = {
  HTTP_PROXY: proxy,
  HTTPS_PROXY: proxy,
  ALL_PROXY: proxy,
  SOCKS_PROXY: `socks5h://${gatePlaces.address}:${gatePlaces.socksPort}`,
  NO_PROXY: none,
} as const;

export const proxyVariables: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(variables).flatMap(([name, value]) => [
    [name, value],
    [name.toLowerCase(), value],
  ]),
);
