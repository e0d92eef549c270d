import { z } from "zod";
import type { Fleet } from "../core/fleet.ts";
import { sandboxStates } from "../core/lifecycle.ts";
import { type Range, requestLimits } from "../core/limits.ts";
import { isAllowed } from "../core/scope.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { jobId, queuedJob, showQueuedJob } from "../schemas/queue.ts";
import { countSandboxes } from "../tools/count-sandboxes.ts";
import { defineRoute, type Route } from "./route.ts";

const tag = "daemon";

/** A setting as `caisson config` shows it: no secret is among them. */
export interface ShownSetting {
  name: string;
  value: unknown;
  origin: string;
}

export interface DaemonRouteParts {
  fleet: Fleet<Sandbox>;
  version: string;
  settings: () => ShownSetting[];
}

const pool = z
  .object({
    image: z.string(),
    engine: z.string(),
    size: z.number(),
    ready: z.number(),
    starting: z.number(),
    hits: z.number(),
    misses: z.number(),
    oldest_age_ms: z.number().nullable(),
  })
  .meta({ id: "Pool" });

const queue = z
  .object({
    running: z.number(),
    waiting: z.number(),
    max_concurrent: z.number(),
    max_waiting: z.number(),
    waiting_by_namespace: z
      .record(z.string(), z.number())
      .describe("waiting jobs by namespace; callers without the role admin see only their own"),
    jobs: z.array(queuedJob).describe("waiting jobs of the caller's namespace, next one first"),
  })
  .meta({ id: "Queue" });

const range = z.object({ default: z.number(), min: z.number(), max: z.number() });

const toSnake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** How the whole place is doing, and what it allows. */
export function daemonRoutes({ fleet, version, settings }: DaemonRouteParts): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/api/v1/queue",
      tag,
      summary: "Returns the queue: running and waiting jobs",
      scope: "read",
      audit: null,
      responses: { 200: { description: "as it is now", schema: queue } },
      handler: async ({ caller }) => {
        const { principal } = caller;
        const { running, waiting, maxConcurrent, maxWaiting, waitingByNamespace } = fleet.queue();
        const { namespace } = principal;
        const own = { [namespace]: waitingByNamespace[namespace] ?? 0 };
        const json = {
          running,
          waiting,
          max_concurrent: maxConcurrent,
          max_waiting: maxWaiting,
          waiting_by_namespace: isAllowed(principal, "administer") ? { ...waitingByNamespace } : own,
          jobs: fleet.waiting(caller).map(showQueuedJob),
        };
        return { status: 200, json };
      },
    }),
    defineRoute({
      method: "DELETE",
      path: "/api/v1/queue/{job_id}",
      tag,
      summary: "Cancels a waiting job; its request fails with 409",
      scope: "use",
      audit: ["job.cancelled"],
      params: jobId,
      responses: { 200: { description: "the cancelled job", schema: queuedJob } },
      handler: async ({ caller, params, record }) => {
        const job = fleet.cancel(caller, params.job_id);
        const { id, kind, sandboxId, requestId } = job;
        record({ type: "job.cancelled", sandboxId, data: { job_id: id, kind, request_id: requestId } });
        return { status: 200, json: showQueuedJob(job) };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/api/v1/pool",
      tag,
      summary: "Lists the pools of sandboxes that are started in advance",
      scope: "operate",
      audit: null,
      responses: { 200: { description: "one pool per image and engine", schema: z.array(pool) } },
      handler: async () => {
        const json = fleet.pools().map(({ oldestAgeMs, ...rest }) => ({ ...rest, oldest_age_ms: oldestAgeMs }));
        return { status: 200, json };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/api/v1/stats",
      tag,
      summary: "Returns the number of sandboxes of the namespace by state, and statistics of the daemon",
      scope: "read",
      audit: null,
      responses: {
        200: {
          description: "as it is now",
          schema: z.object({
            version: z.string(),
            uptime_seconds: z.number(),
            sandboxes: z.record(z.enum(sandboxStates), z.number()),
            memory_bytes: z.number(),
          }),
        },
      },
      handler: async ({ caller }) => {
        const { states } = await countSandboxes(fleet, caller);
        const json = {
          version,
          uptime_seconds: process.uptime(),
          sandboxes: states,
          memory_bytes: process.memoryUsage.rss(),
        };
        return { status: 200, json };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/api/v1/limits",
      tag,
      summary: "Returns the limits that a request can set: defaults, minima and maxima",
      scope: "read",
      audit: null,
      responses: { 200: { description: "limits by name", schema: z.record(z.string(), range) } },
      handler: async () => {
        const entries = Object.entries<Range>(requestLimits).map(([name, one]) => [toSnake(name), { ...one }]);
        return { status: 200, json: Object.fromEntries(entries) };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/api/v1/config",
      tag,
      summary: "Returns every setting and where its value is set",
      scope: "operate",
      audit: null,
      responses: {
        200: {
          description: "all settings",
          schema: z.array(z.object({ name: z.string(), value: z.unknown(), origin: z.string() })),
        },
      },
      handler: async () => ({ status: 200, json: settings() }),
    }),
  ];
}
