import { createHash } from "node:crypto";
import { z } from "zod";
import type { Fleet } from "../core/fleet.ts";
import type { EventType, Happening } from "../core/journal.ts";
import type { SandboxProcess } from "../core/process.ts";
import { defined } from "../lib/defined.ts";
import { processLimits } from "../sandboxes/limits.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import {
  outputPiece,
  processCommand,
  processId,
  processInfo,
  showProcess,
  startBody,
  terminalSize,
} from "../schemas/process.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { written } from "../schemas/written.ts";
import { httpLimits } from "./limits.ts";
import { type StreamFormat, streamed, streamFormat } from "./live-stream.ts";
import { type Call, defineRoute, type Route, type RouteResponse } from "./route.ts";
import { anyOf, message } from "./stream-messages.ts";

const path = "/api/v1/sandboxes/{id}/processes";
const one = `${path}/{process}`;
const tag = "processes";
const told = z.object({ delivered: z.boolean().describe("false if the process had already ended") });

type OneCall = Pick<Call<z.output<typeof processId>, unknown, unknown>, "caller" | "params">;

/** Something told to a process that may have ended; written down either way. */
interface Telling<B extends z.ZodType> {
  verb: string;
  summary: string;
  type: EventType;
  body: B;
  description: string;
  act: (process: SandboxProcess, body: z.output<B>) => Promise<{ delivered: boolean; event: Happening }>;
}

const outputQuery = z.strictObject({
  offset: written(z.number().int().min(0).max(Number.MAX_SAFE_INTEGER))
    .optional()
    .describe("offset in bytes from the start of the output"),
  channel: z.enum(["stdout", "stderr"]).optional(),
  max_bytes: written(z.number().int().min(1).max(processLimits.readBytes)).optional(),
  encoding: z.enum(["utf8", "base64"]).optional(),
});

const { ended: _, ...piece } = outputPiece.shape;
const messages = anyOf("ProcessMessage", [
  message("OutputMessage", "output", piece),
  message("ExitMessage", "exit", processInfo.shape),
]);

export function processRoutes(fleet: Fleet<Sandbox>): Route[] {
  const withProcess = <T>({ caller, params }: OneCall, act: (process: SandboxProcess) => Promise<T>): Promise<T> =>
    fleet.use(caller, params.id, async (sandbox) => act(sandbox.processes.get(params.process)));

  const tell = <B extends z.ZodType>({ verb, summary, type, body, description, act }: Telling<B>): Route =>
    defineRoute({
      method: "POST",
      path: `${one}/${verb}`,
      tag,
      summary,
      scope: "use",
      audit: [type],
      params: processId,
      body,
      responses: { 200: { description, schema: told } },
      handler: async (call) => {
        const { delivered, event, runId } = await withProcess(call, async (process) => ({
          ...(await act(process, call.body)),
          runId: process.info().run_id,
        }));
        call.record({ ...event, sandboxId: call.params.id, runId });
        return { status: 200, json: { delivered } };
      },
    });

  return [
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Starts a background process",
      scope: "use",
      audit: "fleet",
      params: sandboxId,
      body: startBody,
      bodyBytes: httpLimits.codeBodyBytes,
      idempotent: true,
      responses: { 201: { description: "the process, running", schema: processInfo } },
      handler: async ({ caller, params, body, signal }) => {
        const { priority } = body;
        const options = defined({ priority, signal });
        const info = await fleet.run(caller, params.id, processCommand(body), options, async (sandbox) =>
          showProcess((await sandbox.startProcess()).info()),
        );
        return {
          status: 201,
          json: info,
          headers: { location: `/api/v1/sandboxes/${params.id}/processes/${info.id}` },
        };
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists background processes, including ended ones",
      scope: "read",
      audit: null,
      params: sandboxId,
      responses: { 200: { description: "all processes", schema: z.array(processInfo) } },
      handler: async ({ caller, params }) => {
        const found = await fleet.use(caller, params.id, async (sandbox) => sandbox.processes.list());
        return { status: 200, json: found.map(showProcess) };
      },
    }),
    defineRoute({
      method: "GET",
      path: one,
      tag,
      summary: "Returns a background process",
      scope: "read",
      audit: null,
      params: processId,
      responses: { 200: { description: "the process", schema: processInfo } },
      handler: async (call) => ({ status: 200, json: showProcess(await withProcess(call, async (it) => it.info())) }),
    }),
    defineRoute({
      method: "GET",
      path: `${one}/output`,
      tag,
      summary: "Returns output from an offset on; a stream continues until the process ends",
      scope: "read",
      audit: null,
      params: processId,
      query: outputQuery,
      responses: {
        200: {
          description: "the output so far; or a stream of messages of type `output`, then one of type `exit`",
          schema: outputPiece,
          messages,
        },
      },
      handler: (call) => {
        const format = streamFormat(call.request.headers.accept);
        return format === undefined ? readOutput(call, withProcess) : followOutput(call, withProcess, format);
      },
    }),
    tell({
      verb: "stdin",
      summary: "Writes to the stdin or terminal of a process, and can close it",
      type: "process.input",
      body: z
        .strictObject({
          data: z.string().optional(),
          encoding: z.enum(["utf8", "base64"]).optional(),
          close: z.boolean().optional(),
        })
        .meta({ id: "ProcessInput", examples: [{ data: "hello\n" }] }),
      description: "the input was written, or the process no longer reads it",
      act: async (process, { data = "", encoding = "utf8", close = false }) => {
        const bytes = Buffer.from(data, encoding);
        const delivered = bytes.length === 0 || (await process.write(bytes));
        if (close) await process.closeInput();
        const sha256 = createHash("sha256").update(bytes).digest("hex");
        const taken = { process_id: process.id, size_bytes: bytes.length, sha256, close };
        return { delivered, event: { type: "process.input", data: taken } };
      },
    }),
    tell({
      verb: "signal",
      summary: "Sends a signal to the process group of a process",
      type: "process.signalled",
      body: z
        .strictObject({ signal: z.union([z.string().regex(/^SIG[A-Z0-9]{1,8}$/), z.number().int().min(1).max(64)]) })
        .meta({ id: "ProcessSignal" }),
      description: "the signal was sent, or the process had ended",
      act: async (process, { signal }) => ({
        delivered: process.signal(signal as NodeJS.Signals),
        event: { type: "process.signalled", data: { process_id: process.id, signal } },
      }),
    }),
    tell({
      verb: "resize",
      summary: "Resizes the terminal of a process",
      type: "process.resized",
      body: terminalSize,
      description: "the terminal was resized, or the process had ended",
      act: async (process, size) => ({
        delivered: process.resize(size),
        event: { type: "process.resized", data: { process_id: process.id, ...size } },
      }),
    }),
    defineRoute({
      method: "POST",
      path: `${one}/wait`,
      tag,
      summary: "Waits until a process ends, up to a timeout",
      scope: "read",
      audit: null,
      params: processId,
      body: z
        .strictObject({
          timeout_seconds: z
            .number()
            .min(httpLimits.waitSeconds.min)
            .max(httpLimits.waitSeconds.max)
            .default(httpLimits.waitSeconds.default),
        })
        .meta({ id: "ProcessWait" }),
      bodyOptional: true,
      responses: {
        200: { description: "the process; still running if the timeout was reached", schema: processInfo },
      },
      handler: async (call) => {
        const info = await withProcess(call, async (process) => {
          await endOr(process, call.body.timeout_seconds * 1000, call.signal);
          return process.info();
        });
        return { status: 200, json: showProcess(info) };
      },
    }),
    defineRoute({
      method: "DELETE",
      path: one,
      tag,
      summary: "Kills a process and its child processes",
      scope: "use",
      audit: ["process.killed"],
      params: processId,
      responses: { 204: { description: "the process has ended" } },
      handler: async (call) => {
        const runId = await withProcess(call, async (process) => {
          if (process.kill()) await process.wait().catch(() => undefined); // a lost one has ended too
          return process.info().run_id;
        });
        const { id, process } = call.params;
        call.record({ type: "process.killed", sandboxId: id, runId, data: { process_id: process } });
        return { status: 204 };
      },
    }),
  ];
}

/** Until it has ended, the time is over, or the caller is gone. */
async function endOr(process: SandboxProcess, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const gate = Promise.withResolvers<void>();
  const timer = setTimeout(gate.resolve, timeoutMs);
  signal.addEventListener("abort", () => gate.resolve(), { once: true });
  try {
    await Promise.race([
      process.wait().then(
        () => undefined,
        () => undefined,
      ),
      gate.promise,
    ]);
  } finally {
    clearTimeout(timer);
  }
}

type WithProcess = <T>(call: OneCall, act: (process: SandboxProcess) => Promise<T>) => Promise<T>;
type OutputCall = Call<z.output<typeof processId>, z.output<typeof outputQuery>, unknown>;

async function readOutput(call: OutputCall, withProcess: WithProcess): Promise<RouteResponse> {
  const { offset, channel, max_bytes: maxBytes, encoding = "utf8" } = call.query;
  const json = await withProcess(call, async (process) => {
    const piece = await process.read(offset, defined({ channel, maxBytes }));
    const next = piece.offset + piece.data.length;
    const { state, output } = process.info();
    const ended = state !== "running" && next >= output[channel ?? "stdout"].to;
    return { offset: piece.offset, next_offset: next, data: piece.data.toString(encoding), ended };
  });
  return { status: 200, json };
}

/** The next owner of a connection goes on from `next_offset`. */
function followOutput(call: OutputCall, withProcess: WithProcess, format: StreamFormat): Promise<RouteResponse> {
  const { offset, channel, encoding = "utf8" } = call.query;
  return streamed(call, format, (begin) =>
    withProcess(call, async (process) => {
      const live = begin();
      const gone = Promise.withResolvers<void>();
      live.gone.addEventListener("abort", () => gone.resolve(), { once: true });
      const pieces = process.output(defined({ channel, offset }))[Symbol.asyncIterator]();
      try {
        while (!live.gone.aborted) {
          const next = await Promise.race([pieces.next(), gone.promise]);
          if (next === undefined || next.done) break;
          const { offset: from, data } = next.value;
          await live.send(
            "output",
            { offset: from, next_offset: from + data.length, data: data.toString(encoding) },
            from + data.length,
          );
        }
      } finally {
        void pieces.return?.();
      }
      await endOr(process, httpLimits.waitSeconds.max * 1000, live.gone);
      if (!live.gone.aborted) await live.send("exit", showProcess(process.info()));
    }),
  );
}
