import { z } from "zod";
import { findSession } from "./find-session.ts";
import { sessionId } from "./session.ts";
import { defineTool } from "./tool.ts";
import { usage, usageOf } from "./usage.ts";

const toolCount = z.object({
  calls: z.number(),
  failed: z.number().describe("refused or failed calls"),
  mean_ms: z.number(),
  max_ms: z.number(),
});

const round = (ms: number) => Math.round(ms * 1000) / 1000;

export const getSandboxMetrics = defineTool({
  name: "get_sandbox_metrics",
  title: "Resources and tool calls",
  sets: ["admin"],
  scope: "read",
  description: [
    "Returns your session's usage (memory, CPU, processes), and the number and duration of tool calls in your namespace since the start.",
    "Use it to find expensive calls. `resources` is null if the session does not run.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ session_id: sessionId }),
  output: z.object({
    resources: usage.nullable(),
    tools: z.record(z.string(), toolCount),
    total_calls: z.number(),
    uptime_seconds: z.number(),
  }),
  run: async (call, { session_id = call.session }) => {
    const record = await findSession(call, session_id);
    const counts = [...call.parts.counts.of(call.caller.principal.namespace)].sort(([one], [other]) =>
      one < other ? -1 : 1,
    );
    const tools = counts.map(([name, { calls, failed, total_ms, max_ms }]) => [
      name,
      { calls, failed, mean_ms: round(total_ms / calls), max_ms: round(max_ms) },
    ]);
    return {
      structured: {
        resources: record === undefined ? null : await usageOf(call, record),
        tools: Object.fromEntries(tools),
        total_calls: counts.reduce((sum, [, { calls }]) => sum + calls, 0),
        uptime_seconds: process.uptime(),
      },
    };
  },
});
