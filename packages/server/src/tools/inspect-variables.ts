import { z } from "zod";
import type { ContextLanguage } from "../core/context.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { sessionLimits } from "./session-limits.ts";

const variable = z.object({
  name: z.string().max(200),
  type: z.string().max(200),
  size_bytes: z.number().nullable().describe("size of the value itself, without objects it refers to; null if unknown"),
  length: z.number().nullable(),
});

export const interpreterState = z.object({
  language: z.enum(["python", "node"]),
  busy: z.boolean().describe("true while code runs: variables are not listed"),
  variables: z.array(variable),
  truncated: z.boolean(),
});

const most = sessionLimits.variables;

/** Names that every Node.js has. */
// biome-ignore format: a list of words
const usual = [
  "_", "atob", "btoa", "clearImmediate", "clearInterval", "clearTimeout", "crypto", "display", "exports", "fetch", "global",
  "module", "navigator", "performance", "queueMicrotask", "require", "setImmediate", "setInterval", "setTimeout", "structuredClone",
];

/** They run among the user's own things, which may be anything: what they answer is checked like any output. */
const listers: Record<ContextLanguage, string> = {
  python: `(lambda sys, most: [
  (lambda size, length: {"name": name[:200], "type": type(value).__name__[:200], "size_bytes": size, "length": length})(
    sys.getsizeof(value) if type(value).__module__ == "builtins" else None,
    len(value) if type(value) in (str, bytes, list, tuple, dict, set, frozenset, bytearray) else None,
  )
  for name, value in list(globals().items())
  if type(name) is str and not name.startswith("_") and name != "display"
][:most])(__import__("sys"), ${most + 1})`,
  node: `(() => {
  const { Session } = process.getBuiltinModule("node:inspector");
  const session = new Session();
  session.connect();
  let names = [];
  session.post("Runtime.globalLexicalScopeNames", {}, (_, reply) => { names = reply?.names ?? []; });
  session.disconnect();
  const usual = new Set(${JSON.stringify(usual)});
  const all = Object.entries(Object.getOwnPropertyDescriptors(globalThis));
  const own = all.filter(([name, { enumerable, get }]) => enumerable && get === undefined && !usual.has(name));
  const read = (name) => { try { return (0, eval)(name); } catch { return undefined; } };
  return [...names.map((name) => [name, read(name)]), ...own.map(([name, { value }]) => [name, value])]
    .slice(0, ${most + 1}).map(([name, value]) => ({
      name: String(name).slice(0, 200),
      type: (value === null ? "null" : typeof value === "object" ? (Array.isArray(value) ? "Array" : String(value.constructor?.name ?? "Object")) : typeof value).slice(0, 200),
      size_bytes: typeof value === "string" ? value.length * 2 : ArrayBuffer.isView(value) ? value.byteLength : null,
      length: typeof value === "string" || Array.isArray(value) ? value.length : null,
    }));
})()`,
};

/** The variables of the interpreter that a session keeps for a language; undefined when it keeps none. */
export async function inspectVariables(
  sandbox: Pick<Sandbox, "contexts">,
  language: ContextLanguage,
): Promise<z.output<typeof interpreterState> | undefined> {
  const context = await sandbox.contexts.findShared(language);
  if (context === undefined) return undefined;
  if (!context.idle) return { language, busy: true, variables: [], truncated: false };
  const { results } = await context.run(listers[language], { limits: { timeoutMs: sessionLimits.inspectMs } });
  const told = z.array(variable).safeParse(results.at(-1)?.json);
  const variables = (told.data ?? []).slice(0, most);
  return { language, busy: false, variables, truncated: !told.success || told.data.length > most };
}
