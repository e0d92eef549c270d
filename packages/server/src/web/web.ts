/** Pages and searches for sandboxes: by their policy, and on their account. */

import type { Errand, ErrandResponse, RunErrand } from "../core/errand.ts";
import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import type { Caller } from "../core/principal.ts";
import type { Clock } from "../lib/clock.ts";
import { type BrowsedPage, type BrowseRequest, browsePage } from "./browser/browse-page.ts";
import { Browser, type BrowserParts, type BrowserSandbox } from "./browser/browser.ts";
import { fetchPage, type Page, type PageRequest } from "./fetch-page.ts";
import { webLimits } from "./limits.ts";
import { Reader } from "./reader.ts";
import { Health } from "./search/health.ts";
import type { Provider } from "./search/providers.ts";
import { type SearchOutcome, type SearchRequest, searchWeb } from "./search/search-web.ts";

export interface WebParts {
  fleet: Pick<Fleet<{ id: string }>, "use">;
  /** Goes out on behalf of a sandbox that is in use. */
  errand: (sandboxId: string, errand: Errand) => Promise<ErrandResponse>;
  providers: readonly Provider[];
  browser: BrowserParts & {
    /** Of the sandboxes that it runs in. */
    image: string;
  };
  clock: Clock;
}

export class Web {
  readonly #parts: WebParts;
  readonly #reader = new Reader();
  readonly #health: Health;
  readonly #busy = new Map<string, number>();
  readonly #browser: Browser;
  readonly browserImage: string;

  constructor(parts: WebParts) {
    this.#parts = parts;
    this.#browser = new Browser(parts.browser);
    this.browserImage = parts.browser.image;
    this.#health = new Health(() => parts.clock.monotonicMs());
  }

  page(caller: Caller, sandboxId: string, request: PageRequest): Promise<Page> {
    return this.#use(caller, sandboxId, (run) => fetchPage(run, this.#reader.for(caller.principal.namespace), request));
  }

  browse(caller: Caller, place: BrowserSandbox, request: BrowseRequest): Promise<BrowsedPage> {
    const reader = this.#reader.for(caller.principal.namespace);
    return browsePage((asked) => this.#browser.open(caller, place, asked), reader, request);
  }

  search(caller: Caller, sandboxId: string, request: SearchRequest): Promise<SearchOutcome> {
    const { providers } = this.#parts;
    const { namespace } = caller.principal;
    const shared = { reader: this.#reader.for(namespace), health: this.#health, providers, namespace };
    return this.#use(caller, sandboxId, (run) => searchWeb({ ...shared, run }, request));
  }

  /** The sandbox is kept from being idle; a few of its requests go on at once. */
  #use<T>(caller: Caller, sandboxId: string, act: (run: RunErrand) => Promise<T>): Promise<T> {
    const { fleet, errand } = this.#parts;
    return fleet.use(caller, sandboxId, async ({ id }) => {
      const busy = this.#busy.get(id) ?? 0;
      if (busy >= webLimits.fetches)
        throw new AppError(
          "limit_exceeded",
          `too many concurrent page requests of ${id} (limit: ${webLimits.fetches})`,
        );
      this.#busy.set(id, busy + 1);
      try {
        return await act((asked) => errand(id, asked));
      } finally {
        const left = (this.#busy.get(id) ?? 1) - 1;
        if (left === 0) this.#busy.delete(id);
        else this.#busy.set(id, left);
      }
    });
  }
}
