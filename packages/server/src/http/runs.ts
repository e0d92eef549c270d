import { z } from "zod";
import type { Audit } from "../core/audit.ts";
import type { Fleet } from "../core/fleet.ts";
import type { RunRecords } from "../core/run-record.ts";
import { defined } from "../lib/defined.ts";
import { checkOwn } from "../sandboxes/check-own.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { linkAfter, pageHeaders, pageQuery } from "../schemas/page.ts";
import { runRecord } from "../schemas/run-record.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { defineRoute, type Route } from "./route.ts";

const stats = z
  .object({
    cpu_ms: z.number(),
    memory_bytes: z.number(),
    memory_peak_bytes: z.number(),
    oom_kills: z.number(),
    processes: z.number(),
    io_read_bytes: z.number(),
    io_write_bytes: z.number(),
  })
  .meta({ id: "SandboxStats" });

interface RunParts {
  fleet: Fleet<Sandbox>;
  audit: Pick<Audit, "making">;
  runs: RunRecords;
}

/** The records of a sandbox's runs (EXE-14), and what it uses now. */
export function runRoutes({ fleet, audit, runs }: RunParts): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/api/v1/sandboxes/{id}/runs",
      tag: "exec",
      summary: "Lists recorded runs of a sandbox, newest first; also of a destroyed sandbox, while records are kept",
      scope: "read",
      audit: null,
      params: sandboxId,
      query: pageQuery,
      responses: {
        200: {
          description: "a page of runs",
          schema: z.array(runRecord),
          headers: pageHeaders,
        },
      },
      handler: async ({ caller, params, query, request }) => {
        await checkOwn({ fleet, audit }, caller, params.id);
        const { cursor, limit } = query;
        const page = await runs.list({ sandboxId: params.id, limit, ...defined({ cursor }) });
        return { status: 200, json: page, headers: linkAfter(page, limit, request.url, ({ run_id }) => run_id) };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/api/v1/sandboxes/{id}/stats",
      tag: "sandboxes",
      summary: "Returns the current resource usage of a sandbox",
      scope: "read",
      audit: null,
      params: sandboxId,
      responses: { 200: { description: "usage as the kernel counts it", schema: stats } },
      handler: async ({ caller, params }) => {
        const found = await fleet.stats(caller, params.id);
        return {
          status: 200,
          json: {
            cpu_ms: found.cpuMs,
            memory_bytes: found.memoryBytes,
            memory_peak_bytes: found.memoryPeakBytes,
            oom_kills: found.oomKills,
            processes: found.processes,
            io_read_bytes: found.ioReadBytes,
            io_write_bytes: found.ioWriteBytes,
          },
        };
      },
    }),
  ];
}
