import { emitWarning, getegid, geteuid } from "node:process";
import type { EngineName } from "../../core/engine.ts";
import type { RootImage } from "../../core/image.ts";
import type { EngineParts } from "./parts.ts";
import type { Privilege } from "./privilege.ts";

export interface OciEngineOptions {
  name: EngineName;
  /** The data folder; what the engine keeps lies in `engine/` below it. */
  home: string;
  image: RootImage;
  guestPath: string;
  helperPath: string;
  /** Where the runtime is, if not where system programs live. */
  runtimePath?: string;
  /** Words after the guest's name; for programs that stand in for the guest. */
  guestArgs?: readonly string[];
  /** Who may open the wire; the caller unless named. */
  owner?: { uid: number; gid: number };
  /** Told of what went wrong beside a call's own result; a warning of the process unless given. */
  onError?: (error: unknown) => void;
}

/** In the namespace of an ordinary user's helper, that user is root. */
export function ownerOf({ owner }: OciEngineOptions, { rootless }: Privilege): EngineParts["owner"] {
  if (rootless) return { uid: 0, gid: 0 };
  return owner ?? { uid: geteuid?.() ?? 0, gid: getegid?.() ?? 0 };
}

export function warn(error: unknown): void {
  emitWarning(error instanceof Error ? error : String(error));
}
