import type { RuleDraft } from "./egress-policies.ts";

/** Sources of apt on this machine, for a sandbox that has nothing of the machine's configuration. */
export interface AptSources {
  /** For apt's own folder: sources, keys, pins, settings. Paths are relative to it. */
  files: readonly { path: string; base64: string }[];
  /** Hosts that apt may connect to. */
  hosts: readonly RuleDraft[];
  /** Parts of the machine's configuration that are left out, and why. */
  left: readonly string[];
  /** Why nothing can be installed from there. */
  problem: string | null;
}

/** Apt's folder in a sandbox that makes an image. */
export const aptFolder = "/workspace/.build/apt";

export const noApt: AptSources = { files: [], hosts: [], left: [], problem: "apt has no sources on this machine" };
