import type { SandboxLimits } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import { changeLimits } from "../../core/request.ts";
import type { Live } from "./live.ts";
import type { EngineParts } from "./parts.ts";
import { explainWithoutCgroups } from "./rootless.ts";
import { saveKeptSoon } from "./start.ts";

/**
 * Changes the limits of a sandbox that runs: what held before holds after, at the new number, or nothing has changed.
 * Without a wait in it, since whoever is handed a sandbox waits for this.
 */
export function updateLimits(parts: EngineParts, live: Live, asked: SandboxLimits): void {
  const { settled } = live;
  if (settled === undefined) throw new AppError("unavailable", `sandbox ${live.id} is not running`);
  const from = settled.limits;
  const to = changeLimits(live.id, from, asked);
  const outcomes = live.cgroup.change(parts.name, from, to);
  if (parts.privilege.rootless) explainWithoutCgroups(outcomes, parts.privilege);
  const broken = [...outcomes].find(([what, why]) => why !== null && settled.enforced.includes(what));
  if (broken !== undefined) {
    live.cgroup.change(parts.name, to, from);
    throw new AppError("conflict", `cannot change the ${broken[0]} limit of sandbox ${live.id}: ${broken[1]}`, {
      hint: "a memory limit cannot be below the memory in use: end processes first",
    });
  }
  live.settled = { ...settled, limits: to };
  const kept = live.record?.kept;
  if (kept != null) saveKeptSoon(parts, live, { ...kept, limits: to });
}

/** An owner that died between the kernel's files and its record leaves what its record says. */
export function reapplyLimits(parts: EngineParts, live: Live): void {
  if (live.settled === undefined) return;
  const { limits } = live.settled;
  const outcomes = live.cgroup.limit(parts.name, limits, ["memory", "cpu", "processes"]);
  if (outcomes.get("memory") !== null) live.cgroup.change(parts.name, { ...limits, memoryBytes: 0 }, limits);
}
