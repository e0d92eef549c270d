import { dirname } from "node:path";
import { emitWarning, getegid, geteuid } from "node:process";
import type { EngineName } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import type { RootImage } from "../../core/image.ts";
import { findRuntime, runtimes } from "../runtime.ts";
import type { EngineParts } from "./parts.ts";
import { findPrivilege, type Privilege } from "./privilege.ts";
import { makeEngineFolders, readBootId } from "./sandbox-folder.ts";

export interface OciEngineOptions {
  name: EngineName;
  /** The data folder; what the engine keeps lies in `engine/` below it. */
  home: string;
  image: RootImage;
  guestPath: string;
  helperPath: string;
  /** Where the runtime is, if neither beside the helper nor where system programs live. */
  runtimePath?: string;
  /** Words after the guest's name; for programs that stand in for the guest. */
  guestArgs?: readonly string[];
  /** Who may open the wire; the caller unless named. */
  owner?: { uid: number; gid: number };
  /** What the machine can spare of its memory; what the kernel says of it unless given. */
  availableMemoryBytes?: () => number;
  /** Told whenever a start is in the runtime's hands. */
  onLaunch?: () => void;
  /** Told of what went wrong beside a call's own result; a warning of the process unless given. */
  onError?: (error: unknown) => void;
}

/** What was found on this machine. */
export interface Machine {
  runtimePath: string;
  engineFolder: string;
  privilege: Privilege;
  bootId: string;
}

export async function findMachine(options: OciEngineOptions): Promise<Machine> {
  const privilege = await findPrivilege();
  if (privilege.rootless && options.owner !== undefined && options.owner.uid !== geteuid?.()) {
    throw new AppError("unsupported", "only root can create sandboxes for another user");
  }
  const { program, remedy } = runtimes[options.name];
  const runtimePath = await runtimePathOf(options);
  if (runtimePath === undefined) {
    throw new AppError("unsupported", `${program} is not installed`, { hint: remedy });
  }
  const engineFolder = await makeEngineFolders(options.home, privilege.folderMode);
  return { runtimePath, engineFolder, privilege, bootId: await readBootId() };
}

export async function runtimePathOf({
  name,
  helperPath,
  runtimePath,
}: Pick<OciEngineOptions, "name" | "helperPath" | "runtimePath">): Promise<string | undefined> {
  return runtimePath ?? findRuntime(runtimes[name], dirname(helperPath));
}

/** In the namespace of an ordinary user's helper, that user is root. */
export function ownerOf({ owner }: OciEngineOptions, { rootless }: Privilege): EngineParts["owner"] {
  if (rootless) return { uid: 0, gid: 0 };
  return owner ?? { uid: geteuid?.() ?? 0, gid: getegid?.() ?? 0 };
}

export function warn(error: unknown): void {
  emitWarning(error instanceof Error ? error : String(error));
}
