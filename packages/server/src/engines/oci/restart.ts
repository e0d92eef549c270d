import type { CreatedSandbox, EngineName, SandboxSpec, StartOptions } from "../../core/engine.ts";
import type { LayerId } from "../../core/layer.ts";
import { sandboxLimits } from "../../core/limits.ts";
import { changeLimits } from "../../core/request.ts";
import { engineLimits } from "../limits.ts";
import { mayPass } from "./launch.ts";
import type { Live } from "./live.ts";
import type { EngineParts } from "./parts.ts";
import type { KeptRecord } from "./record.ts";
import { saveKept, startBoundary } from "./start.ts";
import { clearBoundary } from "./stop.ts";

/** Starts a sandbox again that does not run. It is a stopped one until it does, and again where that fails. */
export async function restartBoundary(
  parts: EngineParts,
  live: Live,
  kept: KeptRecord,
  options: StartOptions,
): Promise<CreatedSandbox> {
  const spec = specOf(parts.name, live.id, kept, options);
  const { folder, cgroup } = live;
  const clear = () => clearBoundary({ folder, cgroup, helper: parts.helper });
  if (!kept.stopped) saveKept(parts, live, { ...kept, stopped: true, paused: false });
  await clear();
  if (options.root !== undefined) await changeRoot(parts, live, options.root);
  for (let tries = 1; ; tries++) {
    try {
      return await startBoundary(parts, live, spec);
    } catch (error) {
      await clear();
      if (tries === engineLimits.startTries || !mayPass(error)) throw error;
    }
  }
}

/** Written down before the layer is used: from then on nobody removes it. */
async function changeRoot(parts: EngineParts, live: Live, root: LayerId): Promise<void> {
  const { record } = live;
  if (record?.kept == null || record.layers.root === root) return;
  await parts.layers.chain(root);
  live.record = { ...record, layers: { ...record.layers, root } };
  saveKept(parts, live, record.kept);
}

function specOf(engine: EngineName, id: string, kept: KeptRecord, asked: StartOptions): SandboxSpec {
  const limits = changeLimits(id, kept.limits, asked.limits ?? {});
  const warm = limits.memoryBytes < sandboxLimits.warmMemoryBytes[engine] ? "never" : (asked.warm ?? kept.warm);
  const listeners = kept.listeners && asked.listeners !== false;
  return { limits, warm, listeners, keep: true };
}
