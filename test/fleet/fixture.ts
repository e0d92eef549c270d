import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Caisson, openCaisson } from "../../packages/server/src/app.ts";
import { type Clock, systemClock } from "../../packages/server/src/core/clock.ts";
import type { FeedEvent } from "../../packages/server/src/core/feed.ts";
import type { FleetSettings } from "../../packages/server/src/core/fleet.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import type { Store } from "../../packages/server/src/core/store.ts";
import { EventFeed } from "../../packages/server/src/events/event-feed.ts";
import type { Restore } from "../../packages/server/src/sandboxes/fleet/creation.ts";
import { SandboxFleet } from "../../packages/server/src/sandboxes/fleet/fleet.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { guestPath, root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

const MiB = 1024 ** 2;
export const small = { memoryBytes: 64 * MiB, storageBytes: 16 * MiB };

export const settings: FleetSettings = {
  engine: "container",
  images: ["host"],
  limits: small,
  idleTimeoutMs: 1_800_000,
  lifetimeMs: 86_400_000,
  maxLifetimeMs: 86_400_000,
  maxConcurrent: 8,
  poolSize: 0,
  commands: { allow: [], deny: [] },
  startsAtOnce: 4,
};

export function callerOf(namespace: string): Caller {
  return { principal: { id: `key-${namespace}`, name: namespace, namespace, role: "agent" }, requestId: "request" };
}

/** A daemon's fleet without its doors. */
export interface TestFleet extends AsyncDisposable {
  fleet: SandboxFleet;
  caisson: Caisson;
  store: Store;
  events: FeedEvent[];
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
  const store = await openStore({ path: join(home, "daemon/caisson.db") });
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const caisson = openCaisson({ home, root, guestPath, onError });
  const feed = new EventFeed();
  const events: FeedEvent[] = [];
  const fleet = await SandboxFleet.open({
    maker: caisson,
    records: store.sandboxes,
    audit: store.audit,
    feed: {
      publish: (news) => {
        const event = feed.publish(news);
        events.push(event);
        return event;
      },
    },
    clock,
    ...(restore === undefined ? {} : { restore }),
    settings: { ...settings, ...changed },
    onError,
  });
  return {
    fleet,
    caisson,
    store,
    events,
    errors,
    [Symbol.asyncDispose]: async () => {
      await fleet[Symbol.asyncDispose]();
      await caisson[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  } satisfies TestFleet;
}

/** A data folder for one fleet after the other; disposing checks that nothing was left behind once all is destroyed. */
export async function makeHome(): Promise<FleetHome> {
  const home = await mkdtemp("/var/tmp/caisson-fleet-");
  return {
    home,
    open: (changed, clock) => openFleet(home, changed, clock),
    [Symbol.asyncDispose]: async () => {
      const caisson = openCaisson({ home, root, guestPath });
      // By their folders: what a failed test left may have a record that cannot be read.
      const folders = await readdir(join(home, "engine/sandboxes")).catch(() => []);
      for (const id of folders.filter((name) => !name.startsWith("."))) await caisson.destroySandbox(id);
      await caisson[Symbol.asyncDispose]();
      const leaks = findLeaks(home);
      await rm(home, { recursive: true, force: true });
      if (leaks.length > 0) throw new Error(`left behind:\n  ${leaks.join("\n  ")}`);
    },
  };
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(10);
}
