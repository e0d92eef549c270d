import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import type { EngineName } from "../core/engine.ts";

/** Where a runtime finds what the helper composed for it, in its private mount namespace. */
export const view = {
  rootfs: "/run/caisson/rootfs",
  bundle: "/run/caisson/bundle",
  state: "/run/caisson/state",
  log: "/run/caisson/log/runtime.log",
  volume: "/run/caisson/vol",
  devices: "/run/caisson/dev",
  image: "/run/caisson/image",
} as const;

/** An OCI runtime is a program and the words it wants on its command line. */
export interface Runtime {
  engine: EngineName;
  program: string;
  /** How to get it where it is missing. */
  remedy: string;
  /** What a release that is too old answers to the words below. */
  outdated?: RegExp;
  /** Another that takes the same words, for hosts that have only that; its probe says whether it works. */
  alternative?: string;
  /** Whether files are served to the sandbox by a process of their own, whose root is the sandbox's. */
  gofer: boolean;
  /** Whether it would copy itself into memory for every sandbox, unless it runs from a sealed copy. */
  sealed: boolean;
  options: readonly string[];
  guestWatchesMemory: boolean;
  /** Whether it can save the memory of what runs, and go on from there. */
  savesMemory: boolean;
  processSlack: number;
}

const shared = [`--root=${view.state}`, `--log=${view.log}`, "--log-format=json"] as const;

export const runtimes: Record<EngineName, Runtime> = {
  gvisor: {
    engine: "gvisor",
    program: "runsc",
    remedy: "./caisson --setup builds a current one from source, or says what keeps it from that",
    outdated: /unknown platform: systrap/,
    gofer: true,
    sealed: false,
    options: [
      ...shared,
      "--platform=systrap", // KVM's can hang where /dev/kvm exists
      "--ignore-cgroups", // they are the engine's own
      "--network=none",
      "--gofer-network-namespace=new", // one that gofers share would be one of another user namespace
      "--net-raw=false",
      // Files are opened by the gofer alone: the sentry, and what runs user code for it, has no capability and no id but one.
      "--directfs=false",
      "--overlay2=none",
      "--host-uds=none",
      "--host-fifo=none",
      "--allow-flag-override=false", // by annotations of a bundle
      "--host-settings=ignore", // it would read them at each start, and tell nobody
    ],
    guestWatchesMemory: true,
    savesMemory: true,
    processSlack: 1,
  },
  container: {
    engine: "container",
    program: "runc",
    remedy: "install the package runc",
    alternative: "crun",
    gofer: false,
    sealed: true,
    options: shared,
    guestWatchesMemory: false,
    savesMemory: false,
    processSlack: 0,
  },
};

export function runArguments(runtime: Runtime, id: string): string[] {
  return [...runtime.options, "run", "--detach", `--bundle=${view.bundle}`, `--pid-file=${view.state}/pid`, id];
}

export function restoreArguments(runtime: Runtime, id: string): string[] {
  // The bundle is the one it was saved with; gVisor adds options of its own where a folder has become an overlay.
  const options = [...runtime.options, "--restore-spec-validation=ignore"];
  const words = ["restore", "--detach", `--bundle=${view.bundle}`, `--pid-file=${view.state}/pid`];
  return [...options, ...words, `--image-path=${view.image}`, id];
}

const folders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** What was built here comes before what the system has. */
export async function findRuntime({ program, alternative }: Runtime, bin: string): Promise<string | undefined> {
  const found = await findProgram(program, [bin, ...folders]);
  return found ?? (alternative === undefined ? undefined : findProgram(alternative));
}

/** Looks where system programs live, whatever PATH the caller has. */
export async function findProgram(name: string, places: readonly string[] = folders): Promise<string | undefined> {
  for (const folder of places) {
    const path = join(folder, name);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}
