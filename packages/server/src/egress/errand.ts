/** What the daemon fetches on behalf of a sandbox goes the way of that sandbox's own connections, step by step (S44). */
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import type { Errand, ErrandResponse } from "../core/errand.ts";
import { AppError, messageOf } from "../core/errors.ts";
import { getOver } from "../http-over/get.ts";
import { type AdmitParts, admit } from "./admit.ts";
import { errorOf } from "./connection-refusal.ts";
import { checkOutboundUrl } from "./dialer.ts";
import type { AllowedDestination, Reading } from "./firewall.ts";
import { gateLimits } from "./gate-limits.ts";
import { openTls } from "./inspection/open-tls.ts";
import type { UpstreamTrust } from "./inspection/upstream-trust.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";

export interface ErrandParts extends AdmitParts {
  trust: UpstreamTrust;
}

/** By which an answer was got. */
const allowedBy = new WeakMap<ErrandResponse, AllowedDestination>();

/** Judges, asks, connects and sends the request: only the firewall decides, and only what it allowed is dialled. */
export async function runErrand(parts: ErrandParts, errand: Errand): Promise<ErrandResponse> {
  const url = checkOutboundUrl(errand.url.href);
  const { signal } = errand;
  const fields = ["Host", url.host, ...Object.entries(errand.headers).flat(), "Connection", "close"];
  const path = `${url.pathname}${url.search}`;
  const asked = { destination: destinationOf(url), method: "GET", path, fields, isInspected: false };
  const admitted = await unlessAborted(admit(parts, asked, errand.after && allowedBy.get(errand.after)), signal);
  if (admitted.refusal !== undefined) throw errorOf(admitted.refusal);
  const { allowed } = admitted;
  const opened = await parts.firewall.connect(allowed, readingOf(url, allowed));
  if (opened.upstream === undefined) throw errorOf(opened.refusal);
  const { upstream } = opened;
  const abort = () => upstream.destroy(new AppError("timeout", "the request was cancelled"));
  signal.addEventListener("abort", abort, { once: true });
  upstream.once("close", () => signal.removeEventListener("abort", abort));
  if (signal.aborted) abort();
  try {
    const connection = url.protocol === "https:" ? await secure(parts.trust, upstream, allowed) : upstream;
    const { headBytes, answerMs } = gateLimits;
    const answer = await getOver(connection, upstream, { path, fields, headBytes, answerMs, peer: "the host" });
    allowedBy.set(answer, allowed);
    return answer;
  } catch (error) {
    throw explain(allowed, upstream, error);
  }
}

function destinationOf({ hostname, port, protocol }: URL) {
  const host = hostname.replace(/^\[|\]$/g, "");
  return { host, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}

/** This end speaks TLS itself: it names the host, and what a rule wants looked into lies open here. */
function readingOf({ protocol }: URL, { verdict }: AllowedDestination): Reading {
  if (protocol === "http:") return "http";
  return verdict.rule.inspect === true ? "inspected" : "tls";
}

async function secure(
  trust: UpstreamTrust,
  upstream: UpstreamConnection,
  { destination: { host } }: AllowedDestination,
): Promise<Duplex> {
  if (isIP(host) !== 0) throw new AppError("unsupported", "TLS requires a host name, not an address");
  const { context } = await trust.load();
  return openTls(upstream, host, ["http/1.1"], context);
}

/** Prefers the reason of the firewall, which may have cut the connection, over a broken socket. */
function explain({ destination }: AllowedDestination, upstream: UpstreamConnection, error: unknown): AppError {
  const why = upstream.errored ?? error;
  const cut = why instanceof AppError && why.code === "forbidden";
  upstream.destroy();
  if (cut) return errorOf({ kind: "denied", destination, reason: why.message, rule: null, layer: null });
  if (why instanceof AppError && why.code !== "unavailable") return why;
  return errorOf({ kind: "failed", destination, reason: messageOf(why), rule: null, layer: null });
}

/** A human takes their time; whoever waits for them may not. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const given = Promise.withResolvers<never>();
  const abort = () => given.reject(new AppError("timeout", "the request was cancelled"));
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  work.catch(() => undefined);
  return Promise.race([work, given.promise]).finally(() => signal.removeEventListener("abort", abort));
}
