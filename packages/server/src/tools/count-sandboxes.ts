import type { Fleet } from "../core/fleet.ts";
import { type SandboxState, sandboxStates } from "../core/lifecycle.ts";
import type { Caller } from "../core/principal.ts";
import { httpLimits } from "../http/limits.ts";

/** How many sandboxes of the namespace are in each state, and how many of them are somebody's session. */
export async function countSandboxes(fleet: Pick<Fleet<unknown>, "list">, caller: Caller) {
  const states = Object.fromEntries(sandboxStates.map((state) => [state, 0])) as Record<SandboxState, number>;
  const limit = httpLimits.page.max;
  let sessions = 0;
  for (let cursor: string | undefined; ; ) {
    const page = await fleet.list(caller, { limit, ...(cursor === undefined ? {} : { cursor }) });
    for (const { status, sessionKey } of page) {
      states[status]++;
      if (sessionKey !== null) sessions++;
    }
    cursor = page.at(-1)?.id;
    if (page.length < limit) return { states, sessions };
  }
}
