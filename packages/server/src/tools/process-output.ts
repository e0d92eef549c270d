import { z } from "zod";
import type { SandboxProcess } from "../core/process.ts";
import { defined } from "../lib/defined.ts";
import { processId, processInfo } from "../schemas/process.ts";
import { existingSession, sessionId, where, whereOf } from "./session.ts";
import { sessionLimits } from "./session-limits.ts";
import { textOf } from "./text-of.ts";
import { defineTool } from "./tool.ts";

const { processBytes, waitSeconds } = sessionLimits;
const { state, result } = processInfo.shape;
const channels = ["stdout", "stderr"] as const;

export const processOutput = defineTool({
  name: "process_output",
  title: "Read a process's output",
  sets: ["sessions"],
  scope: "read",
  description: [
    "Reads the output of a background process from offset on. Continue with next_offset; with wait_seconds the call waits for new output.",
    "Returns data (text or base64, see encoding), ended, and the result with the exit code after the end. Only the newest part of very long output is kept: offset is where data begins.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    process_id: processId.shape.process,
    channel: z.enum(channels).default("stdout").describe("a terminal has only stdout"),
    offset: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe("in bytes, from the start"),
    max_bytes: z.number().int().min(1).max(processBytes.max).default(processBytes.default),
    wait_seconds: z.number().min(0).max(waitSeconds.max).default(waitSeconds.default),
    session_id: sessionId,
  }),
  output: z.object({
    data: z.string(),
    encoding: z.enum(["utf8", "base64"]),
    process_id: z.string(),
    channel: z.enum(channels),
    offset: z.number(),
    next_offset: z.number(),
    ended: z.boolean().describe("true: there will be no more output"),
    ...{ state, result },
    ...where,
  }),
  run: async (call, input) => {
    const { process_id, channel, offset, max_bytes: maxBytes, wait_seconds, session_id } = input;
    const record = await existingSession(call, session_id);
    const found = await call.parts.fleet.use(call.caller, record.id, async ({ processes }) => {
      const process = processes.get(process_id);
      let piece = await process.read(offset, { channel, maxBytes });
      if (piece.data.length === 0 && wait_seconds > 0) {
        await moreOf(process, { channel, offset, timeoutMs: wait_seconds * 1000, signal: call.signal });
        piece = await process.read(offset, { channel, maxBytes });
      }
      return { piece, info: process.info() };
    });
    const { state, result, output } = found.info;
    const { offset: from, data } = found.piece;
    const text = textOf(data, state === "running" || from + data.length < output[channel].to);
    const next_offset = from + (text === undefined ? data.length : Buffer.byteLength(text));
    return {
      structured: {
        ...{ process_id, channel, offset: from, next_offset },
        data: text ?? data.toString("base64"),
        encoding: text === undefined ? ("base64" as const) : ("utf8" as const),
        ended: state !== "running" && next_offset >= output[channel].to,
        ...{ state, result },
        ...whereOf(record),
      },
    };
  },
});

interface Wait {
  channel: (typeof channels)[number];
  offset: number;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Until something is there, it has ended, the time is over, or the caller is gone. */
async function moreOf(process: SandboxProcess, { channel, offset, timeoutMs, signal }: Wait): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, timeoutMs);
  signal.addEventListener("abort", () => over.resolve(), { once: true });
  const pieces = process.output(defined({ channel, offset }))[Symbol.asyncIterator]();
  try {
    const next = pieces.next();
    next.catch(() => undefined); // a process that is lost has ended too
    await Promise.race([
      next.then(
        () => undefined,
        () => undefined,
      ),
      over.promise,
    ]);
  } finally {
    clearTimeout(timer);
    void pieces.return?.();
  }
}
