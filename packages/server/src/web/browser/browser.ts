/** Opens pages in sandboxes of the browser image: one page at a time in each, and each in an empty one (S82). */

import { AppError } from "../../core/errors.ts";
import type { Fleet } from "../../core/fleet.ts";
import type { Caller } from "../../core/principal.ts";
import { defined } from "../../lib/defined.ts";
import { keepNewest } from "../../lib/keep-newest.ts";
import { Turn } from "../../lib/turn.ts";
import { type BrowserRequest, commandOf, drive } from "./drive.ts";
import { browserLimits } from "./limits.ts";
import type { Failed, Shown } from "./read-answer.ts";
import { type BlockedHost, destinationOf, Way, type WayParts } from "./way.ts";

export interface BrowserParts extends WayParts {
  fleet: Pick<Fleet<unknown>, "run" | "reset">;
}

export interface BrowserSandbox {
  id: string;
  /** What it is called by whoever asks for its policy to be changed. */
  session: string;
  /** Made for this call: nothing was in it before. */
  isNew: boolean;
  /** Somebody's own, with files of theirs: it is left as it is. */
  isOwn: boolean;
}

export interface OpenedPage extends Omit<Shown, "missing"> {
  blocked: BlockedHost[];
}

export class Browser {
  readonly #parts: BrowserParts;
  readonly #turns = new Map<string, Turn>();
  readonly #waiting = new Map<string, number>();

  constructor(parts: BrowserParts) {
    this.#parts = parts;
  }

  async open(caller: Caller, sandbox: BrowserSandbox, request: BrowserRequest): Promise<OpenedPage> {
    const { id } = sandbox;
    const waiting = this.#waiting.get(id) ?? 0;
    if (waiting >= browserLimits.waiting)
      throw new AppError("limit_exceeded", `too many pages wait for the browser (limit: ${browserLimits.waiting})`);
    this.#waiting.set(id, waiting + 1);
    const used = this.#turns.get(id);
    const turn = used ?? new Turn();
    this.#turns.delete(id);
    this.#turns.set(id, turn);
    keepNewest(this.#turns, browserLimits.remembered);
    const isClean = sandbox.isOwn || (sandbox.isNew && used === undefined);
    try {
      return await turn.take(() => this.#open(caller, sandbox, request, isClean));
    } finally {
      const left = (this.#waiting.get(id) ?? 1) - 1;
      if (left === 0) this.#waiting.delete(id);
      else this.#waiting.set(id, left);
    }
  }

  async #open(caller: Caller, sandbox: BrowserSandbox, request: BrowserRequest, isClean: boolean): Promise<OpenedPage> {
    const { fleet } = this.#parts;
    const { id } = sandbox;
    if (request.signal.aborted) throw new AppError("timeout", "the request was cancelled");
    const way = new Way(this.#parts, caller, sandbox);
    await way.ask(destinationOf(request.url), request.signal);
    // What the last page left in it, if it broke out of the browser, ends here.
    if (!isClean) await fleet.reset(caller, id);
    await way.begin();
    const { signal } = request;
    const found = await fleet.run(caller, id, commandOf(request), { signal }, (sandbox) => drive(sandbox, signal));
    if ("error" in found) throw await failureOf(found, way);
    const at = destinationOf(new URL(found.url));
    if (isRefusal(found)) {
      const refusal = await way.explain(at);
      if (refusal !== undefined) throw refusal;
    }
    const { missing, ...page } = found;
    if (missing) throw notThere(request, page);
    return { ...page, blocked: await way.blocked(at) };
  }
}

/** An answer of the gate's, by its looks: the log knows whether it is one. */
function isRefusal({ status, type }: Shown): boolean {
  return status !== null && status >= 400 && type === "application/problem+json";
}

async function failureOf({ error, message, url }: Failed, way: Way): Promise<AppError> {
  const address = URL.parse(url);
  const host = address === null ? url : address.host;
  if (address !== null && (error === "unreached" || error === "timeout")) {
    const policy = await way.explain(destinationOf(address));
    if (policy !== undefined) return policy;
  }
  switch (error) {
    case "unreached":
      return new AppError("unavailable", `cannot reach ${host}: ${message}`);
    case "timeout":
      return new AppError("timeout", message, { hint: "try a longer timeout_seconds" });
    case "selector":
      return new AppError("invalid", `wait_for is not a CSS selector: ${message}`);
    case "download":
      return new AppError("unsupported", `${host} returns a file or nothing, not a page`, {
        hint: "download it with code in the sandbox",
      });
    case "missing":
      return new AppError("unsupported", message, { hint: "caisson image import browser" });
    case "too_large":
      return new AppError("too_large", `cannot read this page: ${message}`);
    case "crashed":
      return new AppError("unavailable", `the browser ended while it loaded the page: ${message}`, {
        hint: "the page may need too much memory; fetch_webpage reads it without running its scripts",
      });
  }
}

function notThere({ waitFor = "" }: BrowserRequest, { title, url, status }: Omit<Shown, "missing">): AppError {
  return new AppError("timeout", `no element matches ${JSON.stringify(waitFor)} on ${url}`, {
    hint: "omit wait_for to see the page, or set a longer timeout_seconds",
    details: defined({ url, title, status }),
  });
}
