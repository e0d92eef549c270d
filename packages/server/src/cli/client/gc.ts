import { showBytes } from "../../core/size.ts";
import { tellJson, tellLine, tellTable } from "./tell.ts";
import type { Verb } from "./verb.ts";

/** Kinds with names: people can recognise the items and delete them one by one. */
const named = { images: "caisson image rm ID", checkpoints: "caisson checkpoint rm ID" } as Record<string, string>;

const gc: Verb = {
  summary: "delete unused data: chunks, superseded images and layers",
  usage: "",
  words: [0, 0],
  options: {
    "dry-run": { type: "boolean", help: "list disk usage and what would be deleted; delete nothing" },
    cache: { type: "boolean", help: "also delete cached downloads" },
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
    tellTable(io, ["KIND", "SIZE", "BUDGET", done.dry_run ? "WOULD DELETE" : "DELETED", "SIZE", ""], rows);
    if (done.dry_run)
      for (const { kind, things } of done.kinds) {
        if (things.length === 0) continue;
        tellLine(io, "");
        tellLine(io, named[kind] === undefined ? kind : `${kind} (to delete one: ${named[kind]})`);
        const lines = things.map((one) => [
          one.id,
          showBytes(one.bytes),
          one.goes ? "delete" : "keep",
          one.namespace,
          one.name,
        ]);
        tellTable(io, ["ID", "SIZE", "", "NAMESPACE", "NAME"], lines);
      }
    return tellLine(io, `disk usage before: ${done.disk_used_percent} %`);
  },
};

export const gcVerbs: Record<string, Verb> = { gc };
