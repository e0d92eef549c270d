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
  /** True when the original's processes continue in each copy. */
  memory: boolean;
  /** Why the copies have files alone. */
  why: string | null;
  /** Origin of the files: on top of the original's (`overlay`), a copy of them, or a snapshot of the workspace. */
  files: "copy" | "overlay" | "snapshot";
}

export interface Fork extends Omit<ForkInfo, "sandboxes"> {
  sandboxes: Sandbox[];
}
