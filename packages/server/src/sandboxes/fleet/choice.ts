import type { EngineName } from "../../core/engine.ts";
import type { EngineChoice } from "../../core/request.ts";
import { Once } from "../../lib/once.ts";
import type { SandboxMaker } from "./maker.ts";

/** Asks once what `auto` stands for: a probe is no part of a creation. What failed is asked again. */
export class EngineChooser {
  readonly #maker: Pick<SandboxMaker, "chooseEngine">;
  readonly #auto = new Once<EngineName>();

  constructor(maker: Pick<SandboxMaker, "chooseEngine">) {
    this.#maker = maker;
  }

  choose(choice: EngineChoice): EngineName | Promise<EngineName> {
    return choice === "auto" ? this.#auto.get(() => this.#maker.chooseEngine(choice)) : choice;
  }
}
