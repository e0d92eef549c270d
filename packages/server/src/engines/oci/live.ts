import type { CreatedSandbox, DiskListener } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import type { SandboxCgroup } from "./cgroup.ts";
import { Freezer } from "./freezer.ts";
import type { SandboxRecord } from "./record.ts";

export type Settled = Pick<
  CreatedSandbox,
  "limits" | "warm" | "listeners" | "runsWatchMemory" | "enforced" | "notEnforced"
>;

/** A sandbox that this engine owns. */
export interface Live {
  id: string;
  folder: string;
  cgroup: SandboxCgroup;
  freezer: Freezer;
  tellDisk: DiskListener;
  base: number | undefined;
  /** Whose root is the sandbox's. */
  rootPid: number;
  hasInput: boolean;
  /** While it runs: what was found to hold. */
  settled: Settled | undefined;
  /** As it was last written. */
  record: SandboxRecord | undefined;
  /** What will write the record that has changed. */
  unsaved: NodeJS.Immediate | undefined;
  exit: PromiseWithResolvers<string>;
  /** Looks at the files follow one another: each makes the next one's mark. */
  lastLook: Promise<unknown>;
  looks: number;
  /** Looks that were whole: two marks are written in turn. */
  looked: number;
  /** Its workspace's name for being empty, as the last whole look found it. */
  empty: string | undefined;
  watches: Set<string>;
  /** Whether it ever was: a helper leaves a moment after its reader. */
  watched: boolean;
  removal: Promise<void> | undefined;
  /** Its memory was saved, and it has not gone on: that its process ends is no news. */
  saved: boolean;
}

export function newLive(id: string, folder: string, cgroup: SandboxCgroup, hasInput: boolean): Live {
  const exit = Promise.withResolvers<string>();
  exit.promise.catch(() => {});
  return {
    id,
    folder,
    cgroup,
    freezer: new Freezer(cgroup),
    tellDisk: async () => {},
    base: undefined,
    rootPid: 0,
    hasInput,
    settled: undefined,
    record: undefined,
    unsaved: undefined,
    exit,
    lastLook: Promise.resolve(),
    looks: 0,
    looked: 0,
    empty: undefined,
    watches: new Set(),
    watched: false,
    removal: undefined,
    saved: false,
  };
}

export function checkKept(live: Live): Live {
  if (live.record?.kept != null) return live;
  throw new AppError("invalid", "an ephemeral sandbox cannot be stopped", { hint: "keep: true" });
}
