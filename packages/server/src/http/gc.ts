import { z } from "zod";
import { type GcReport, gcTriggers, usedPercent } from "../core/gc.ts";
import { defined } from "../lib/defined.ts";
import type { GarbageCollection } from "../sandboxes/gc/collection.ts";
import { gcLimits } from "../sandboxes/gc/limits.ts";
import { defineRoute, type Route } from "./route.ts";

const amount = z.number().int().min(0);

const thing = z
  .object({
    id: z.string(),
    name: z.string(),
    namespace: z.string().nullable().describe("null: belongs to the installation"),
    bytes: amount,
    goes: z.boolean().describe("true if unused: a collection deletes it"),
  })
  .meta({ id: "CollectedThing" });

const kind = z
  .object({
    kind: z.string().describe("blobs (of snapshots, skills and artifacts), downloads, images, checkpoints or layers"),
    bytes: amount.describe("bytes before the collection, including data in use"),
    budget_bytes: amount,
    over_budget: z.boolean().describe("true if data in use exceeds the budget; it is never deleted"),
    freed_items: amount,
    freed_bytes: amount,
    things: z.array(thing).max(gcLimits.things).describe("named items before the collection, largest first"),
    error: z.string().nullable().describe("error that stopped the collection early"),
  })
  .meta({ id: "CollectedKind" });

const collected = z
  .object({
    dry_run: z.boolean().describe("true if nothing was deleted: the numbers say what a collection would delete"),
    trigger: z.enum(gcTriggers),
    disk_used_percent: z.number().min(0).max(100).describe("disk usage before the collection"),
    disk_free_bytes: amount,
    freed_items: amount,
    freed_bytes: amount,
    kinds: z.array(kind),
  })
  .meta({ id: "Collected" });

function show({ dryRun, trigger, disk, freed, kinds }: GcReport): z.output<typeof collected> {
  return {
    dry_run: dryRun,
    trigger,
    disk_used_percent: Math.round(usedPercent(disk) * 10) / 10,
    disk_free_bytes: disk.freeBytes,
    freed_items: freed.items,
    freed_bytes: freed.bytes,
    kinds: kinds.map((one) => ({
      kind: one.kind,
      bytes: one.bytes,
      budget_bytes: one.budgetBytes,
      over_budget: one.bytes - (dryRun ? 0 : one.freed.bytes) > one.budgetBytes,
      freed_items: one.freed.items,
      freed_bytes: one.freed.bytes,
      things: [...one.things],
      error: one.error,
    })),
  };
}

/** Clears the data folder of what nothing uses (S77). */
export function gcRoutes(collection: GarbageCollection): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/api/v1/gc",
      tag: "daemon",
      summary: "Returns disk usage, unused data, and what a collection would free, for all namespaces",
      scope: "administer",
      audit: null,
      responses: { 200: { description: "the report of a dry run", schema: collected } },
      handler: async ({ caller }) => ({ status: 200, json: show(await collection.run(caller, { dryRun: true })) }),
    }),
    defineRoute({
      method: "POST",
      path: "/api/v1/gc",
      tag: "daemon",
      summary: "Deletes unused data of all namespaces",
      scope: "administer",
      audit: "fleet",
      body: z
        .strictObject({
          dry_run: z.boolean().optional().describe("only report what would be deleted"),
          cache: z.boolean().optional().describe("also delete cached downloads"),
        })
        .meta({ id: "Collect" }),
      bodyOptional: true,
      responses: { 200: { description: "the report of the collection", schema: collected } },
      handler: async ({ caller, body }) => {
        const { dry_run: dryRun, cache } = body ?? {};
        return { status: 200, json: show(await collection.run(caller, defined({ dryRun, cache }))) };
      },
    }),
  ];
}
