import type { EngineName } from "../../core/engine.ts";
import type { RootImage } from "../../core/image.ts";
import type { Runtime } from "../runtime.ts";
import type { WorkspaceDisk } from "./disk.ts";
import type { HelperClient } from "./helper-client.ts";
import type { LayerMounts } from "./layer-mounts.ts";
import type { MemoryRoom } from "./memory-room.ts";
import type { Privilege } from "./privilege.ts";

/** What an engine works with: what it was told, what was found on this machine, and what it opened. */
export interface EngineParts {
  name: EngineName;
  runtime: Runtime;
  runtimePath: string;
  image: RootImage;
  guestPath: string;
  /** Words after the guest's name, where they are not the usual ones. */
  guestArgs?: readonly string[] | undefined;
  /** Who may open the wire. */
  owner: { uid: number; gid: number };
  engineFolder: string;
  privilege: Privilege;
  bootId: string;
  helper: HelperClient;
  disk: WorkspaceDisk;
  memory: MemoryRoom;
  layers: LayerMounts;
  onLaunch: (() => void) | undefined;
  onError: (error: unknown) => void;
}
