import { AppError } from "../core/errors.ts";
import { type ToolSet, toolSets } from "./tool.ts";
import { tools } from "./tools.ts";

const isSet = (name: string): name is ToolSet => (toolSets as readonly string[]).includes(name);

/** The sets that a client names: `core,files`, or `all`. */
export function readToolSets(names: readonly string[]): readonly ToolSet[] {
  const wanted = names.map((name) => name.trim()).filter((name) => name !== "");
  const unknown = wanted.filter((name) => name !== "all" && !isSet(name));
  if (unknown.length > 0)
    throw new AppError("invalid", `unknown tool set '${unknown.join("', '").slice(0, 100)}'`, {
      hint: `the sets are ${toolSets.join(", ")}, and all`,
    });
  if (wanted.length === 0)
    throw new AppError("invalid", "no tool set is named", { hint: `name some of ${toolSets.join(", ")}, or all` });
  return wanted.includes("all") ? toolSets : wanted.filter(isSet);
}

/** How a client gets sets of tools that it has not. */
function howToGet(sets: readonly string[]): string {
  const named = sets.join(",");
  return `caisson mcp --tools ${named} over standard input and output, /mcp?tools=${named} over HTTP`;
}

/** For a model: the sets that its client has not asked for. Empty when it has all. */
export function moreTools(sets: readonly ToolSet[]): string[] {
  const others = toolSets.filter((set) => !sets.includes(set));
  if (others.length === 0) return [];
  return [
    `You have the tool sets ${sets.join(", ")}. There are more tools in the sets ${others.join(", ")};`,
    `your user gets all of them with caisson serve, or ${howToGet(["all"])}.`,
  ];
}

/** For a call of a tool that this client does not have. Clients may show a model the message alone, so all of it is there. */
export function unknownTool(name: string, sets: readonly ToolSet[]): AppError {
  const known = tools.find((tool) => tool.name === name);
  if (known === undefined)
    return new AppError("invalid", `unknown tool '${name.slice(0, 100)}': tools/list lists your tools`);
  const [set] = known.sets;
  const how = howToGet([...sets, set]);
  return new AppError(
    "invalid",
    `the tool '${name}' is in the set ${set}, which you do not have: it comes with ${how}`,
  );
}
