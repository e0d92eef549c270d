import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { SandboxRecord } from "../core/sandbox-record.ts";
import type { ToolCall } from "./tool.ts";

export const usage = z.object({
  cpu_ms: z.number(),
  memory_bytes: z.number(),
  memory_peak_bytes: z.number(),
  memory_limit_bytes: z.number(),
  cpus: z.number(),
  processes: z.number(),
  oom_kills: z.number(),
});

/** What a sandbox uses, as the kernel counts; null for one that does not run. */
export async function usageOf(call: ToolCall, record: SandboxRecord): Promise<z.output<typeof usage> | null> {
  try {
    const found = await call.parts.fleet.stats(call.caller, record.id);
    return {
      cpu_ms: found.cpuMs,
      memory_bytes: found.memoryBytes,
      memory_peak_bytes: found.memoryPeakBytes,
      memory_limit_bytes: record.limits.memoryBytes,
      cpus: record.limits.cpus,
      processes: found.processes,
      oom_kills: found.oomKills,
    };
  } catch (error) {
    if (error instanceof AppError && error.code === "conflict") return null;
    throw error;
  }
}
