/** What the daemon fetches on behalf of a sandbox goes the way of that sandbox's own connections, step by step (S44). */
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import type { Errand, ErrandAnswer } from "../core/errand.ts";
import { AppError, messageOf } from "../core/errors.ts";
import { getOver } from "../http-over/get.ts";
import { type AdmitParts, admit } from "./admit.ts";
import { checkOutboundUrl } from "./dialer.ts";
import { gateLimits } from "./gate-limits.ts";
import type { HostTrust } from "./inspection/host-trust.ts";
import { openTls } from "./inspection/open-tls.ts";
import type { Outlet } from "./outlet.ts";
import type { Permit, Reading } from "./passage.ts";
import { errorOf } from "./refusal.ts";

export interface ErrandParts extends AdmitParts {
  trust: HostTrust;
}

/** By which an answer was got. */
const permits = new WeakMap<ErrandAnswer, Permit>();

/** Judge, ask, reach, speak: nobody but the passage decides, and nothing is dialled that it did not permit. */
export async function runErrand(parts: ErrandParts, errand: Errand): Promise<ErrandAnswer> {
  const url = checkOutboundUrl(errand.url.href);
  const { signal } = errand;
  const fields = ["Host", url.host, ...Object.entries(errand.headers).flat(), "Connection", "close"];
  const path = `${url.pathname}${url.search}`;
  const asked = { destination: destinationOf(url), method: "GET", path, fields, isInspected: false };
  const admitted = await unlessAborted(admit(parts, asked, errand.after && permits.get(errand.after)), signal);
  if (admitted.refusal !== undefined) throw errorOf(admitted.refusal);
  const { permit } = admitted;
  const opened = await parts.passage.reach(permit, readingOf(url, permit));
  if (opened.outlet === undefined) throw errorOf(opened.refusal);
  const { outlet } = opened;
  const abort = () => outlet.destroy(new AppError("timeout", "the request was cancelled"));
  signal.addEventListener("abort", abort, { once: true });
  outlet.once("close", () => signal.removeEventListener("abort", abort));
  if (signal.aborted) abort();
  try {
    const connection = url.protocol === "https:" ? await secure(parts.trust, outlet, permit) : outlet;
    const { headBytes, answerMs } = gateLimits;
    const answer = await getOver(connection, outlet, { path, fields, headBytes, answerMs, peer: "the host" });
    permits.set(answer, permit);
    return answer;
  } catch (error) {
    throw explain(permit, outlet, error);
  }
}

function destinationOf({ hostname, port, protocol }: URL) {
  const host = hostname.replace(/^\[|\]$/g, "");
  return { host, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}

/** This end speaks TLS itself: it names the host, and what a rule wants looked into lies open here. */
function readingOf({ protocol }: URL, { verdict }: Permit): Reading {
  if (protocol === "http:") return "http";
  return verdict.rule.inspect === true ? "inspected" : "tls";
}

async function secure(trust: HostTrust, outlet: Outlet, { destination: { host } }: Permit): Promise<Duplex> {
  if (isIP(host) !== 0) throw new AppError("unsupported", "TLS requires a host name, not an address");
  const { context } = await trust.load();
  return openTls(outlet, host, ["http/1.1"], context);
}

/** The passage may have cut it; that says more than a broken socket. */
function explain({ destination }: Permit, outlet: Outlet, error: unknown): AppError {
  const why = outlet.errored ?? error;
  const cut = why instanceof AppError && why.code === "forbidden";
  outlet.destroy();
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
