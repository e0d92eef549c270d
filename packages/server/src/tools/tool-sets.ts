import { AppError } from "../core/errors.ts";
import { type ToolSet, toolSets } from "./tool.ts";

const isSet = (name: string): name is ToolSet => (toolSets as readonly string[]).includes(name);

/** The sets that a client names: `core,files`, or `all`. */
export function readToolSets(names: readonly string[]): readonly ToolSet[] {
  const wanted = names.map((name) => name.trim()).filter((name) => name !== "");
  const unknown = wanted.filter((name) => name !== "all" && !isSet(name));
  if (unknown.length > 0)
    throw new AppError("invalid", `there is no tool set '${unknown.join("', '").slice(0, 100)}'`, {
      hint: `the sets are ${toolSets.join(", ")}, and all`,
    });
  if (wanted.length === 0)
    throw new AppError("invalid", "no tool set is named", { hint: `name some of ${toolSets.join(", ")}, or all` });
  return wanted.includes("all") ? toolSets : wanted.filter(isSet);
}
