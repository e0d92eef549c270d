import type { Check } from "./diagnosis.ts";
import type { Engine, EngineName, EngineProbe, KeptSandbox } from "./engine.ts";
import type { EngineChoice } from "./request.ts";

/** Source of engines: this process, or another one over a socket. Engines are opened at first use and close with it. */
export interface EngineSource extends AsyncDisposable {
  /** `auto` is the strongest engine that has really started a sandbox here. */
  choose(choice: EngineChoice): Promise<EngineName>;
  open(name: EngineName): Promise<Engine>;
  /** Kept sandboxes of the data folder, whoever owns them; ended ones too, until they are destroyed. */
  kept(): Promise<KeptSandbox[]>;
  /** The engine of a kept sandbox; undefined where its record is damaged or was never written. */
  engineOfKept(id: string): Promise<EngineName | undefined>;
  /** PATH of user code. */
  searchPath(): Promise<string>;
  /** Tries every engine. */
  probe(): Promise<EngineProbe[]>;
  checkHost(): Promise<Check[]>;
}
