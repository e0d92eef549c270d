import { z } from "zod";
import { AppError } from "../core/errors.ts";
import { requestLimits } from "../core/limits.ts";
import { defined } from "../lib/defined.ts";
import { toBytes } from "../schemas/amount.ts";
import { changeSandbox, sandbox, showSandbox } from "../schemas/sandbox.ts";
import { sessionId, sessionLabels, sessionOf, timeoutOf, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

const { memory_mb, cpus, max_processes } = changeSandbox.shape;
const mostSeconds = requestLimits.timeoutMs.max / 1000;

const shown = sandbox.pick({ memory_mb: true, cpus: true, max_processes: true, storage_mb: true });

export const setResourceLimits = defineTool({
  name: "set_resource_limits",
  title: "Set limits of a session",
  sets: ["sessions", "admin"],
  scope: "use",
  description: [
    "Changes a session's limits at once: memory, cores, processes, and the default time limit of execute_code.",
    "Use it if a run ended with oom_killed or timed_out, or to reduce a session's usage. Omitted limits do not change.",
    "Returns the new limits. A value over a maximum is refused, and the refusal names the maximum.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    session_id: sessionId,
    ...{ memory_mb, cpus, max_processes },
    timeout_seconds: z.number().positive().max(mostSeconds).optional(),
  }),
  output: z.object({
    ...shown.shape,
    timeout_seconds: z.number(),
    ...where,
  }),
  run: async (call, input) => {
    const { memory_mb, cpus, max_processes: processes, timeout_seconds: timeout } = input;
    const limits = defined({ memoryBytes: toBytes(memory_mb), cpus, processes });
    if (Object.keys(limits).length === 0 && timeout === undefined)
      throw new AppError("invalid", "no limit is named", { hint: "memory_mb, cpus, max_processes or timeout_seconds" });
    const before = await sessionOf(call, input.session_id);
    const labels =
      timeout === undefined ? {} : { labels: { ...before.labels, [sessionLabels.timeout]: String(timeout) } };
    const asked = Object.keys(limits).length === 0 ? {} : { limits };
    const record = await call.parts.fleet.change(call.caller, before.id, { ...asked, ...labels });
    const seconds = timeoutOf(record) ?? requestLimits.timeoutMs.default / 1000;
    return { structured: { ...whereOf(record), ...shown.parse(showSandbox(record)), timeout_seconds: seconds } };
  },
});
