import { tellJson, tellLine, tellTable } from "./tell.ts";
import type { Verb } from "./verb.ts";

const gc: Verb = {
  summary: "remove what nothing uses any more: chunks, layers, and with --cache downloads",
  usage: "",
  words: [0, 0],
  options: {
    "dry-run": { type: "boolean", help: "only tell what would go" },
    cache: { type: "boolean", help: "what can be fetched again goes too" },
  },
  run: async ({ caisson, options, io, json }) => {
    const done = await caisson.gc({ dry_run: options.flag("dry-run"), cache: options.flag("cache") });
    if (json) return tellJson(io, done);
    const rows = done.kinds.map((one) => [
      one.kind,
      one.bytes,
      one.budget_bytes,
      one.freed_items,
      one.freed_bytes,
      one.error ?? "",
    ]);
    tellTable(io, ["KIND", "BYTES", "BUDGET", done.dry_run ? "WOULD GO" : "GONE", "BYTES", ""], rows);
    return tellLine(io, `disk: ${done.disk_used_percent} % was used`);
  },
};

export const gcVerbs: Record<string, Verb> = { gc };
