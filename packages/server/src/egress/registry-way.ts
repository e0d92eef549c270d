/** What the daemon fetches from registries of images: by TLS from public addresses, unless an operator has named the place (S72). */
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import type { ErrandResponse } from "../core/errand.ts";
import { AppError, messageOf } from "../core/errors.ts";
import type { RegistryRequest, RegistryWay } from "../core/registry-way.ts";
import { getOver } from "../http-over/get.ts";
import { registryLimits } from "../registries/limits.ts";
import { isBlockedAddress } from "./blocked-ranges.ts";
import type { World } from "./connect.ts";
import { checkOutboundUrl } from "./dialer.ts";
import { openTls } from "./inspection/open-tls.ts";
import type { UpstreamTrust } from "./inspection/upstream-trust.ts";
import { readRegistry } from "./read-registry.ts";
import { UpstreamConnection } from "./upstream-connection.ts";

export interface RegistryWayParts {
  world: World;
  trust: UpstreamTrust;
  /** Registries of this machine and its networks: `registry.example.com`, or `http://127.0.0.1:5000` for one without TLS. */
  registries: readonly string[];
}

const noThrottle = { up: () => undefined, down: () => undefined };

export function openRegistryWay({ world, trust, registries }: RegistryWayParts): RegistryWay {
  const known = new Map(registries.map(readRegistry).map(({ authority, scheme }) => [authority, scheme]));
  return {
    schemeOf: (authority) =>
      known.get(withPort(authority, "https")) ?? known.get(withPort(authority, "http")) ?? "https",
    get: async (request) => {
      const url = checkOutboundUrl(request.url.href);
      const scheme = url.protocol === "https:" ? "https" : "http";
      const isKnown = known.get(withPort(url.host, scheme)) === scheme;
      if (scheme === "http" && !isKnown)
        throw new AppError("forbidden", `cannot connect to ${url.host} without TLS`, {
          hint: `an operator can allow it: images.registries: http://${url.host}`,
        });
      const upstream = await reachPlace(world, url, isKnown, request.signal);
      return speak(trust, upstream, url, request);
    },
  };
}

function withPort(authority: string, scheme: "http" | "https"): string {
  return /:\d+$/.test(authority) ? authority : `${authority}:${scheme === "https" ? 443 : 80}`;
}

/** One bad address among several refuses the name. */
async function reachPlace(world: World, url: URL, isKnown: boolean, signal: AbortSignal): Promise<UpstreamConnection> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) === 0 ? await world.resolve(host) : [host];
  const bad = (address: string) => isBlockedAddress(address) || world.isOwnAddress(address);
  if (!isKnown && addresses.some(bad))
    throw new AppError("forbidden", `${url.host} is an address of this machine or a private network`, {
      hint: `an operator can allow it: images.registries: ${url.host}`,
    });
  let why: unknown = new Error("it has no address");
  for (const address of addresses) {
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(registryLimits.connectMs)]);
      const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
      return new UpstreamConnection(await world.dial(address, port, limited), noThrottle);
    } catch (error) {
      why = error;
    }
  }
  throw unreachable(url, why);
}

async function speak(
  trust: UpstreamTrust,
  upstream: UpstreamConnection,
  url: URL,
  request: RegistryRequest,
): Promise<ErrandResponse> {
  const { signal, headers } = request;
  const abort = () => upstream.destroy(new AppError("timeout", "the request was cancelled"));
  signal.addEventListener("abort", abort, { once: true });
  upstream.once("close", () => signal.removeEventListener("abort", abort));
  upstream.on("error", () => undefined); // whoever reads the answer hears of it
  if (signal.aborted) abort();
  try {
    const connection = url.protocol === "https:" ? await secure(trust, upstream, url.hostname) : upstream;
    const path = `${url.pathname}${url.search}`;
    const fields = ["Host", url.host, ...Object.entries(headers).flat(), "Connection", "close"];
    const { headBytes, answerMs } = registryLimits;
    return await getOver(connection, upstream, { path, fields, headBytes, answerMs, peer: "the registry" });
  } catch (error) {
    const cause = upstream.errored ?? error;
    upstream.destroy();
    throw cause instanceof AppError ? cause : unreachable(url, cause);
  }
}

async function secure(trust: UpstreamTrust, upstream: UpstreamConnection, host: string): Promise<Duplex> {
  if (isIP(host.replace(/^\[|\]$/g, "")) !== 0)
    throw new AppError("unsupported", "TLS requires a host name, not an address");
  const { context } = await trust.load();
  return openTls(upstream, host, ["http/1.1"], context);
}

function unreachable(url: URL, error: unknown): AppError {
  return new AppError("unavailable", `cannot reach ${url.host}: ${messageOf(error)}`, { cause: error });
}
