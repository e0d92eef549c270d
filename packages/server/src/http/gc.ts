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
    namespace: z.string().nullable().describe("null: the installation's"),
    bytes: amount,
    goes: z.boolean().describe("nothing uses it: a collection removes it"),
  })
  .meta({ id: "CollectedThing" });

const kind = z
  .object({
    kind: z.string().describe("blobs: of snapshots, skills and artifacts; downloads; images; checkpoints; layers"),
    bytes: amount.describe("before, what is in use included"),
    budget_bytes: amount,
    over_budget: z.boolean().describe("of what is in use nothing is removed, whatever it takes"),
    freed_items: amount,
    freed_bytes: amount,
    things: z.array(thing).max(gcLimits.things).describe("before, the largest first, of kinds whose things have names"),
    error: z.string().nullable().describe("why nothing, or not all of it, went"),
  })
  .meta({ id: "CollectedKind" });

const collected = z
  .object({
    dry_run: z.boolean().describe("nothing was removed: the numbers say what would be"),
    trigger: z.enum(gcTriggers),
    disk_used_percent: z.number().min(0).max(100).describe("before"),
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
      tag: "place",
      summary: "What takes room, what of it nothing uses, and what a collection would free, of all namespaces",
      scope: "administer",
      audit: null,
      responses: { 200: { description: "as a dry run tells it", schema: collected } },
      handler: async ({ caller }) => ({ status: 200, json: show(await collection.run(caller, { dryRun: true })) }),
    }),
    defineRoute({
      method: "POST",
      path: "/api/v1/gc",
      tag: "place",
      summary: "Removes what nothing uses any more, of all namespaces",
      scope: "administer",
      audit: "fleet",
      body: z
        .strictObject({
          dry_run: z.boolean().optional().describe("only tells what would go"),
          cache: z.boolean().optional().describe("what can be fetched again goes too"),
        })
        .meta({ id: "Collect" }),
      bodyOptional: true,
      responses: { 200: { description: "what went", schema: collected } },
      handler: async ({ caller, body }) => {
        const { dry_run: dryRun, cache } = body ?? {};
        return { status: 200, json: show(await collection.run(caller, defined({ dryRun, cache }))) };
      },
    }),
  ];
}
