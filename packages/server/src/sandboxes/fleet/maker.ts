import type { DiskRoom } from "../../core/disk-room.ts";
import type { EngineName, KeptSandbox, SandboxLimits, WarmChoice } from "../../core/engine.ts";
import type { LayerId } from "../../core/layer.ts";
import type { EngineChoice } from "../../core/request.ts";
import type { Copies } from "../copies.ts";
import type { Sandbox } from "../sandbox.ts";

interface MakeOptions {
  engine: EngineName;
  limits: SandboxLimits;
  warm: WarmChoice;
  keep: true;
  fleet: true;
  /** Its tree is the root, in place of the machine's own. */
  root?: LayerId;
  /** Its files are there already. */
  base?: LayerId;
  /** The id of an input folder. */
  folder?: string;
  /** The id of an output folder. */
  outputFolder?: string;
}

/** Whoever makes the boundaries of a fleet. */
export interface SandboxMaker {
  /** Whether code may listen in what starts now (EXE-13). */
  readonly listeners: boolean;
  /** What `auto` stands for here. */
  chooseEngine(choice: EngineChoice): Promise<EngineName>;
  createSandbox(options: MakeOptions): Promise<Sandbox>;
  /** What its processes wrote meanwhile comes without the values to hide. */
  attachSandbox(id: string, options?: { hide?: readonly Buffer[]; root?: LayerId }): Promise<Sandbox>;
  readonly copies: Pick<Copies, "fork" | "load" | "grow" | "unload" | "checkpoint" | "restore" | "remove" | "kept">;
  /** Of one that has ended or was stopped: the same id, the same workspace. */
  startSandbox(id: string, options: { limits: SandboxLimits; root?: LayerId }): Promise<Sandbox>;
  /** Ends what runs in it, whatever state it is in; its workspace stays. */
  stopSandbox(id: string): Promise<void>;
  /** Ends what runs in it, and empties its workspace. */
  resetSandbox(id: string): Promise<void>;
  destroySandbox(id: string): Promise<void>;
  keptSandboxes(): Promise<KeptSandbox[]>;
  diskRoom(): Promise<DiskRoom>;
}
