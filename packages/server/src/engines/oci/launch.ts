import type { SandboxSpec } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import type { RootEntry, RootImage } from "../../core/image.ts";
import { engineLimits } from "../limits.ts";
import { type Runtime, restoreArguments, runArguments } from "../runtime.ts";
import type { Argument, HelperClient } from "./helper-client.ts";

export interface LaunchOptions {
  id: string;
  folder: string;
  /** The ids of the sandbox, in the helper's words. */
  ids: readonly Argument[];
  owner: { uid: number; gid: number };
  runtime: Runtime;
  runtimePath: string;
  image: RootImage;
  guestPath: string;
  cgroupPaths: readonly string[];
  volume: Volume;
  /** True if the helper makes a /dev. */
  hasDevices: boolean;
  /** What it lies on, in the helper's words. */
  layers: readonly Argument[];
  /** Whether a former start copied an input folder, which is still there. */
  keepsInput: boolean;
  /** Set for a new workspace. */
  makesOutput: boolean;
  spec: SandboxSpec;
  revival?: Revival | undefined;
}

/** A start that goes on from saved memory. */
export interface Revival {
  /** By the name the helper has for it. */
  memory: string;
  /** Whether it goes on where it was: with the same wire and bundle. */
  inPlace: boolean;
}

/** What the workspace lies on: an image, filled from a template where it is new, or a plain folder. */
export interface Volume {
  isImage: boolean;
  template?: string;
}

export interface Launched {
  pid: number;
  gofer: number;
}

/** Mount points of every sandbox: the runtime cannot make them in a root that is not its own. */
const mountPoints = ["/proc", "/dev", "/sys", "/run", "/workspace", "/home/user"];

/** One round trip to the helper, which undoes what it did where it fails. */
export async function launch(helper: HelperClient, options: LaunchOptions): Promise<Launched> {
  try {
    const reply = await helper.request("launch", launchArguments(options));
    return { pid: Number(reply.pid), gofer: Number(reply.gofer) };
  } catch (error) {
    throw error instanceof AppError ? explain(error, options) : error;
  }
}

function launchArguments(options: LaunchOptions): Argument[] {
  const { spec, runtime } = options;
  return [
    ["id", options.id],
    ["folder", options.folder],
    ...options.ids,
    ["uid", options.owner.uid],
    ["gid", options.owner.gid],
    ["timeoutMs", engineLimits.startTimeoutMs],
    ["inputFiles", engineLimits.inputFiles],
    ["runtime", options.runtimePath],
    ...(options.revival === undefined ? runArguments : restoreArguments)(runtime, options.id).map(
      (word): Argument => ["arg", word],
    ),
    ...options.cgroupPaths.map((path): Argument => ["cgroup", path]),
    ...(runtime.gofer ? [["gofer", 1] as const] : []),
    ...(runtime.sealed ? [["sealed", 1] as const] : []),
    ...(runtime.savesMemory ? [["savesMemory", 1] as const] : []),
    ...(options.volume.isImage ? [["image", 1] as const] : []),
    ...(options.volume.template === undefined ? [] : [["template", options.volume.template] as const]),
    ...(options.hasDevices ? [["devices", 1] as const] : []),
    ...(options.revival === undefined ? [] : [["memory", options.revival.memory] as const]),
    ...(options.revival?.inPlace === true ? [["sameWire", 1] as const] : []),
    ...(options.keepsInput ? [["keepInput", 1] as const] : []),
    ...(spec.inputFolder === undefined ? [] : [["input", spec.inputFolder] as const]),
    ...(options.makesOutput ? [["output", 1] as const] : []),
    ...mountPoints.map((path): Argument => ["dir", path]),
    ["sticky", "/tmp"],
    ...options.layers,
    ...rootArguments(options),
    ["bind", `/.caisson/guest=${options.guestPath}`],
  ];
}

/** A layer's tree takes the place of the host's; what is added to either lies over it. */
function rootArguments({ layers, image }: LaunchOptions): Argument[] {
  const additions = image.additions.map(entryArgument);
  if (layers.some(([key]) => key === "root")) return [["over", image.over], ...additions];
  return [...image.entries.map(entryArgument), ...additions];
}

function entryArgument(entry: RootEntry): Argument {
  switch (entry.kind) {
    case "folder":
      return ["dir", entry.path];
    case "mask":
      return ["mask", entry.path];
    case "link":
      return ["link", `${entry.path}=${entry.target}`];
    case "bind":
      return ["bind", `${entry.path}=${entry.source}`];
  }
}

function explain(error: AppError, options: LaunchOptions): AppError {
  const aboutInput = options.spec.inputFolder !== undefined && error.message.startsWith("input:");
  const code = error.code === "internal" ? codeOf(error, aboutInput) : error.code;
  return new AppError(code, `cannot start the sandbox: ${error.message}`, {
    cause: error,
    hint: aboutInput ? inputHint(error) : runtimeHint(error, options),
    ...(error.details === undefined ? {} : { details: error.details }),
  });
}

function inputHint({ details }: AppError): string {
  if (details?.errno === "ENOSPC") return "The input folder is copied into the workspace: ask for more storage.";
  return "An input folder may hold files, folders and relative links that stay inside it.";
}

function runtimeHint({ message }: AppError, { runtime, runtimePath }: LaunchOptions): string {
  if (runtime.outdated?.test(message)) return `${runtimePath} is too old: ${runtime.remedy}`;
  return `Run caisson doctor: it tries ${runtime.program} (${runtimePath}) on its own.`;
}

/** A runtime that is not there, or does not work, is a fault of the host: what was asked for may work later. */
function codeOf(error: AppError, aboutInput: boolean): AppError["code"] {
  if (aboutInput) return "invalid";
  return error.message.startsWith("runtime:") ? "unavailable" : "internal";
}

/** runc now and then finds the copy of itself that it just made still open for writing, and starts nothing. */
export function mayPass(error: unknown): boolean {
  return error instanceof Error && error.message.includes("could not ensure we are a cloned binary");
}
