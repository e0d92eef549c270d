import { type EngineChoice, parseEngineChoice } from "../../core/request.ts";
import type { ParsedOptions } from "../options.ts";

/** The engine by its own name or by that of a backend elsewhere. */
export function engineOf(options: ParsedOptions): EngineChoice | undefined {
  const named = options.text("engine");
  return named === undefined ? undefined : parseEngineChoice(named);
}
