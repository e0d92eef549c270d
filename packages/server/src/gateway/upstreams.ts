import type { ServerLink } from "../core/server-link.ts";
import { HttpLine } from "./http-line.ts";
import { LegacySpeech, ModernSpeech } from "./http-speech.ts";
import { StdioLine } from "./stdio-line.ts";
import { ToolHeaders } from "./tool-headers.ts";
import { Upstream } from "./upstream.ts";

/** A session at a server that is spoken to over HTTP: each client has its own. */
export interface HttpSession {
  speech: LegacySpeech;
  line: HttpLine;
}

export interface LegacyUpstream {
  upstream: Upstream;
  http?: HttpSession;
}

export interface ModernUpstream {
  upstream: Upstream;
  /** Undefined for a server over stdio. */
  headers?: ToolHeaders;
}

/** Connections to instances that run. Those that several clients share are found by the start of the instance. */
export class Upstreams {
  readonly #stdio = new Map<string, Upstream>();
  readonly #modern = new Map<string, ModernUpstream>();

  legacy(link: ServerLink): LegacyUpstream {
    if (link.carrier.kind === "stdio") return { upstream: this.#overStdio(link, true) };
    const { incarnation, ended, mask, carrier, contact } = link;
    const speech = new LegacySpeech();
    const made: { line?: HttpLine } = {};
    const upstream = new Upstream(
      { incarnation, ended, mask, cancelsByMessage: true, guessesOwner: true },
      (hearer) => {
        made.line = new HttpLine({ ...carrier, path: contact.path }, speech, hearer);
        return made.line;
      },
    );
    return { upstream, http: { speech, line: made.line as HttpLine } };
  }

  modern(link: ServerLink): ModernUpstream {
    const { incarnation, ended, mask, carrier, contact } = link;
    if (carrier.kind === "stdio") return { upstream: this.#overStdio(link, false) };
    const known = this.#modern.get(incarnation);
    if (known !== undefined) return known;
    const headers = new ToolHeaders();
    const speech = new ModernSpeech((message) => headers.fieldsOf(message));
    const upstream = new Upstream(
      { incarnation, ended, mask, cancelsByMessage: false, guessesOwner: false },
      (hearer) => new HttpLine({ ...carrier, path: contact.path }, speech, hearer),
    );
    return this.#keep(this.#modern, link, { upstream, headers });
  }

  #overStdio(link: ServerLink, guessesOwner: boolean): Upstream {
    const { incarnation, ended, mask, carrier } = link;
    const known = this.#stdio.get(incarnation);
    if (known !== undefined || carrier.kind !== "stdio") return known as Upstream;
    const kind = { incarnation, ended, mask, cancelsByMessage: true, guessesOwner };
    return this.#keep(this.#stdio, link, new Upstream(kind, (hearer) => new StdioLine(carrier, hearer)));
  }

  #keep<T>(all: Map<string, T>, { incarnation, ended }: ServerLink, made: T): T {
    if (ended.aborted) return made;
    all.set(incarnation, made);
    ended.addEventListener("abort", () => void all.delete(incarnation), { once: true });
    return made;
  }
}
