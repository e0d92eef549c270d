import type { CreatedSandbox } from "../core/engine.ts";
import { messageOf } from "../core/errors.ts";
import { hostNameOf } from "../core/host-name.ts";
import type { Adopt } from "../core/wire.ts";
import { wireLimits } from "../wire/limits.ts";
import type { SandboxParts } from "./sandbox-parts.ts";
import { SandboxWire } from "./sandbox-wire.ts";

/** The wire of a sandbox, not connected yet: it closes when the boundary ends, and stands still while the disk is full. */
export function openWire(created: CreatedSandbox, paused: boolean, parts: SandboxParts, adopt: Adopt): SandboxWire {
  const { engine, chronicle, environment } = parts;
  const died = engine.waitExit(created.id);
  const wire = new SandboxWire(
    async () => {
      const attached = await parts.attach(created, died, adopt);
      await parts.openGate(created, attached).catch((error: unknown) => {
        attached.close(messageOf(error));
        throw error;
      });
      return attached;
    },
    {
      name: hostNameOf(created.id),
      leaseMs: created.kept ? 0 : wireLimits.leaseMs,
      memoryBytes: created.limits.memoryBytes,
      watchMemory: created.guestWatchesMemory,
      environment,
      warmIdleMs: wireLimits.warmIdleMs,
      warm: created.warm === "start" ? ["python", "node"] : [],
    },
    paused,
  );
  died.then(
    (reason) => wire.close(reason),
    (error: unknown) => wire.close(messageOf(error)),
  );
  engine.watchDisk(created.id, async (news) => {
    if (news === "low") await wire.pause("disk");
    if (news === "room") wire.resume("disk");
    if (news !== "low") chronicle.disk(created.id, news);
  });
  return wire;
}
