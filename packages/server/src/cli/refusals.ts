import { cliLimits } from "../core/limits.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { visible } from "./terminal.ts";

/** Gathers what a program tried to reach and could not, for a word about it when it has ended. */
export function watchRefusals(sandbox: Sandbox): () => string[] {
  const refused = new Map<string, string>();
  sandbox.events.subscribe(
    (event) => {
      if (event.type !== "egress.denied" || refused.size >= cliLimits.refusals) return;
      const { host, port, reason } = event;
      // A name that was only looked up is likely wanted on the usual port.
      const rule = port === 0 || port === 443 ? host : `${host}:${port}`;
      refused.set(rule, `${rule} was refused: ${reason} (--allow-domain ${rule})`);
    },
    { types: ["egress.denied"] },
  );
  return () => [...refused.values()].map(visible);
}
