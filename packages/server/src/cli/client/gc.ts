import { showBytes } from "../../core/size.ts";
import { tellJson, tellLine, tellTable } from "./tell.ts";
import type { Verb } from "./verb.ts";

/** What has a name, so that people can judge and delete it themselves. */
const named = { images: "caisson image rm ID", checkpoints: "caisson checkpoint rm ID" } as Record<string, string>;

const gc: Verb = {
  summary: "remove what nothing uses any more: chunks, superseded images, layers, and with --cache downloads",
  usage: "",
  words: [0, 0],
  options: {
    "dry-run": { type: "boolean", help: "only tell what would go, and what takes room, thing by thing" },
    cache: { type: "boolean", help: "what can be fetched again goes too" },
  },
  run: async ({ caisson, options, io, json }) => {
    const done = await caisson.gc({ dry_run: options.flag("dry-run"), cache: options.flag("cache") });
    if (json) return tellJson(io, done);
    const rows = done.kinds.map((one) => [
      one.kind,
      showBytes(one.bytes),
      showBytes(one.budget_bytes),
      one.freed_items,
      showBytes(one.freed_bytes),
      one.error ?? "",
    ]);
    tellTable(io, ["KIND", "SIZE", "BUDGET", done.dry_run ? "WOULD GO" : "GONE", "SIZE", ""], rows);
    if (done.dry_run)
      for (const { kind, things } of done.kinds) {
        if (things.length === 0) continue;
        tellLine(io, "");
        tellLine(io, named[kind] === undefined ? kind : `${kind} (${named[kind]} deletes one)`);
        const lines = things.map((one) => [
          one.id,
          showBytes(one.bytes),
          one.goes ? "goes" : "stays",
          one.namespace,
          one.name,
        ]);
        tellTable(io, ["ID", "SIZE", "", "NAMESPACE", "NAME"], lines);
      }
    return tellLine(io, `disk: ${done.disk_used_percent} % was used`);
  },
};

export const gcVerbs: Record<string, Verb> = { gc };
