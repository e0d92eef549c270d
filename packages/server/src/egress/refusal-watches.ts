import type { Destination } from "../core/egress.ts";
import type { NetworkRefusal, RefusalWatch } from "../core/network-refusal.ts";
import { type ConnectionRefusal, errorOf } from "./connection-refusal.ts";
import { gateLimits } from "./gate-limits.ts";
import { egressLimits } from "./limits.ts";

interface Watching {
  refused: Map<string, NetworkRefusal>;
  isTruncated: boolean;
}

/**
 * Shows each refusal of a gate to every run that goes on meanwhile. Connections belong to the sandbox and not to a run,
 * so two runs at once both see it.
 */
export class RefusalWatches {
  readonly #open = new Set<Watching>();

  watch(): RefusalWatch {
    const watching: Watching = { refused: new Map(), isTruncated: false };
    this.#open.add(watching);
    return {
      seen: () => ({ refused: [...watching.refused.values()], refused_truncated: watching.isTruncated }),
      [Symbol.dispose]: () => void this.#open.delete(watching),
    };
  }

  /** `shown` is the destination as the log has it. */
  add(refusal: ConnectionRefusal, { host, port }: Destination): void {
    if (this.#open.size === 0) return;
    const place = JSON.stringify([host, port]);
    for (const watching of this.#open) {
      if (watching.refused.has(place)) continue;
      if (watching.refused.size >= gateLimits.shownRefusals) watching.isTruncated = true;
      else watching.refused.set(place, show(refusal, { host, port }));
    }
  }
}

function show(refusal: ConnectionRefusal, { host, port }: Destination): NetworkRefusal {
  const { nameCharacters, reasonCharacters } = egressLimits;
  const { hint } = errorOf({ ...refusal, destination: { host, port } });
  return {
    host: host.slice(0, nameCharacters),
    port,
    kind: refusal.kind,
    reason: refusal.reason.slice(0, reasonCharacters),
    hint: hint ?? "",
  };
}
