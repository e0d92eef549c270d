import type { CaissonOptions } from "./core/app-options.ts";
import type { ImageRecord } from "./core/image-record.ts";
import type { LayerId } from "./core/layer.ts";
import type { RunKeeper } from "./core/run-observer.ts";
import type { ActivePolicies } from "./egress/active-policies.ts";
import type { World } from "./egress/connect.ts";
import type { GatesParts } from "./egress/gates.ts";

/** Parts that a service gives to its Caisson: for the gate of each sandbox, for runs and for images. */
export interface Oversight
  extends Partial<Pick<GatesParts, "log" | "asking" | "secrets" | "downloads" | "packageHosts">> {
  /** Writes down runs, before anybody hears of them. Default: files of the data folder. */
  keeper?: RunKeeper;
  /** Says what an image says about running it. */
  imageOf?: (root: LayerId) => ImageRecord | undefined;
}

export interface CaissonParts extends CaissonOptions {
  /** Network policies. Default: those of `network`. */
  policies?: ActivePolicies;
  /** May come later: a sandbox can be used once it is there. */
  oversight?: Oversight | Promise<Oversight>;
  /** Name servers, addresses and sockets. Default: this machine's. */
  world?: World;
}
