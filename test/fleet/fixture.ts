import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { Service } from "../../packages/server/src/compose/service.ts";
import type { FleetSettings } from "../../packages/server/src/core/fleet.ts";
import type { JournalEvent } from "../../packages/server/src/core/journal.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { type Clock, systemClock } from "../../packages/server/src/lib/clock.ts";
import type { Restore } from "../../packages/server/src/sandboxes/fleet/creation.ts";
import { makeDataFolder, removeDataFolder } from "../data-folder.ts";
import { guestPath, root } from "../harness.ts";
import { openDeployment } from "./deployment.ts";

const MiB = 1024 ** 2;
export const small = { memoryBytes: 64 * MiB, storageBytes: 16 * MiB };

export const settings: FleetSettings = {
  engine: "container",
  image: "host",
  limits: small,
  idleTimeoutMs: 1_800_000,
  lifetimeMs: 86_400_000,
  maxLifetimeMs: 86_400_000,
  maxConcurrent: 8,
  poolSize: 0,
  commands: { allow: [], deny: [], ask: [] },
  keepArtifactsMs: 0,
  startsAtOnce: 4,
  namespaceStoragePercent: 80,
};

export function callerOf(namespace: string): Caller {
  return { principal: { id: `key-${namespace}`, name: namespace, namespace, role: "agent" }, requestId: "request" };
}

/** A daemon's fleet without its doors. */
export interface TestFleet extends Service {
  events: JournalEvent[];
  errors: unknown[];
}

export interface FleetHome extends AsyncDisposable {
  home: string;
  open(changed?: Partial<FleetSettings>, clock?: Clock): Promise<TestFleet>;
}

export async function openFleet(
  home: string,
  changed: Partial<FleetSettings> = {},
  clock = systemClock,
  restore?: Restore,
) {
  const errors: unknown[] = [];
  // What the fleet records, and not what happens inside its sandboxes.
  const events: JournalEvent[] = [];
  const onEvent = (event: JournalEvent) => void (event.type.startsWith("execution.") || events.push(event));
  const service = await openDeployment(home, {
    onEvent,
    settings: { ...settings, ...changed },
    clock,
    ...(restore === undefined ? {} : { restore }),
    onError: (error) => void errors.push(error),
  });
  return { ...service, events, errors } satisfies TestFleet;
}

/** A data folder for one fleet after the other; disposing checks that nothing was left behind once all is destroyed. */
export async function makeHome(): Promise<FleetHome> {
  const home = await makeDataFolder("/var/tmp/caisson-fleet-");
  return {
    home,
    open: (changed, clock) => openFleet(home, changed, clock),
    [Symbol.asyncDispose]: async () => {
      const caisson = openCaisson({ home, root, guestPath });
      // By their folders: what a failed test left may have a record that cannot be read.
      const folders = await readdir(join(home, "engine/sandboxes")).catch(() => []);
      for (const id of folders.filter((name) => !name.startsWith("."))) await caisson.destroySandbox(id);
      await caisson[Symbol.asyncDispose]();
      await removeDataFolder(home);
    },
  };
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(10);
}
