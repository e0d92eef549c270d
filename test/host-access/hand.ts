import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import type { HostPolicy } from "../../packages/server/src/core/host-access.ts";
import { startCommand } from "../../packages/server/src/engines/spawn.ts";
import { LocalHand } from "../../packages/server/src/host-access/local-hand.ts";

export const nothing: HostPolicy = { allow: [], ask: [], blocked: [], unknown: "deny", folders: [] };

/** The hand of whoever runs the tests, under this policy. */
export function handWith(policy: Partial<HostPolicy>, more: { attended?: boolean; closed?: readonly string[] } = {}) {
  return new LocalHand({
    policy: { ...nothing, ...policy },
    attended: true,
    closed: [".ssh"],
    start: startCommand,
    ...more,
  });
}

export class Folder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<Folder> {
    return new Folder(await realpath(await mkdtemp("/var/tmp/caisson-host-")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

let marks = 0;
/** A number of seconds that no other process sleeps for. */
export function newMark(): string {
  return `${600 + ++marks}.${process.pid}`;
}

/** Whether somebody sleeps for so long. */
export function running(mark: string): boolean {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8") === `sleep\0${mark}\0`;
    } catch {
      return false; // it has ended
    }
  });
}
