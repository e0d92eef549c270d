import type { Sandbox } from "./sandbox.ts";
import type { SandboxInfo } from "./sandbox-info.ts";

export interface ForkOptions {
  /** How many copies; one unless told. */
  count?: number;
  /** With what runs in it: where that can be (`auto`), or else not at all, or only the files. */
  memory?: "auto" | "required" | "never";
}

/** As the API sends it. */
export interface ForkInfo {
  sandboxes: SandboxInfo[];
  /** Whether what ran in the original runs on in each copy. */
  memory: boolean;
  /** Why the copies have files alone. */
  why: string | null;
  /** Of the files: they lie on the original's (`overlay`), on a copy of them, or are what a snapshot reads of the workspace. */
  files: "copy" | "overlay" | "snapshot";
}

export interface Fork extends Omit<ForkInfo, "sandboxes"> {
  sandboxes: Sandbox[];
}
