import { z } from "zod";
import { defined } from "../core/defined.ts";
import type { Fleet, Job } from "../core/fleet.ts";
import { httpLimits } from "../core/http-limits.ts";
import { languages } from "../core/language.ts";
import type { Run, RunOptions, RunResult } from "../core/run.ts";
import { newRunId } from "../core/run-id.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { command, runFields, runResult, toRunLimits, toStdin } from "../schemas/run.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { runHeaders, runHeadersDescribed } from "./headers.ts";
import { askedFormat, type LiveStream, OutputMessages, type StreamFormat, streamed } from "./live-stream.ts";
import { type Answer, type Call, defineRoute, type Route } from "./route.ts";
import { anyOf, message, output } from "./stream-messages.ts";

const tag = "exec";

const execBody = z.strictObject({ command, ...runFields }).meta({ id: "Exec" });
const codeBody = z
  .strictObject({ language: z.enum(languages), code: z.string(), ...runFields })
  .meta({ id: "ExecuteCode" });

type Fields = Omit<z.output<typeof execBody>, "command">;
type RunCall = Call<z.output<typeof sandboxId>, undefined, Fields>;
type Start = (sandbox: Sandbox, options: RunOptions) => Promise<Run>;

/** What was written has come before. */
const { stdout: _, stderr: __, ...ended } = runResult.shape;

const responses = {
  200: {
    description: "how it ended, whatever its exit code; or its output as it comes, then a message of type `result`",
    schema: runResult,
    headers: runHeadersDescribed,
    messages: anyOf("RunMessage", [...output, message("RunResultMessage", "result", ended)]),
  },
};

function toOptions(body: Fields): RunOptions {
  return defined({
    cwd: body.cwd,
    env: body.env,
    stdin: toStdin(body),
    limits: toRunLimits(body),
    trackFiles: body.track_files,
  });
}

async function run(fleet: Fleet<Sandbox>, call: RunCall, job: Job, start: Start): Promise<Answer> {
  const { caller, params, body } = call;
  const options = toOptions(body);
  const { cwd, env, stdin, stdin_base64 } = body;
  const format = askedFormat(body.stream, call.request.headers.accept);
  const beside = { ...job.beside, ...defined({ cwd, env, stdin, stdin_base64 }) };
  const asked = defined({ priority: body.priority, allowedDomains: body.allowed_domains });
  const queued = { ...job, ...asked, beside, signal: call.signal };
  if (format !== undefined) return stream(fleet, call, { ...queued, streams: true }, options, start, format);
  const result = await fleet.run(caller, params.id, queued, async (sandbox) => {
    return (await start(sandbox, { ...options, id: job.id, signal: call.signal })).result;
  });
  return { status: 200, json: result, headers: runHeaders(job.id) };
}

/** A client that goes away ends its run. */
function stream(
  fleet: Fleet<Sandbox>,
  call: RunCall,
  job: Job,
  options: RunOptions,
  start: Start,
  format: StreamFormat,
) {
  const { caller, params, body } = call;
  const work = async (begin: () => LiveStream) => {
    const output = new OutputMessages(begin, body.encoding ?? "utf8");
    const result: RunResult = await fleet.run(caller, params.id, job, async (sandbox) => {
      const started = await start(sandbox, { ...options, id: job.id, signal: call.signal, onOutput: output.send });
      const live: LiveStream = begin();
      live.gone.addEventListener("abort", () => started.kill(), { once: true });
      if (live.gone.aborted) started.kill();
      return started.result;
    });
    output.end();
    const { stdout: _, stderr: __, ...shown } = result;
    await begin().send("result", shown);
  };
  return streamed(call, format, work, runHeaders(job.id));
}

export function execRoutes(fleet: Fleet<Sandbox>): Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/api/v1/sandboxes/{id}/exec",
      tag,
      summary: "Runs a command, and waits or streams",
      permission: "use",
      audit: "fleet",
      params: sandboxId,
      body: execBody,
      bodyBytes: httpLimits.codeBodyBytes,
      responses,
      handler: (call) =>
        run(fleet, call, { id: newRunId(), kind: "command", command: call.body.command }, (sandbox, options) =>
          sandbox.start({ ...options, command: call.body.command }),
        ),
    }),
    defineRoute({
      method: "POST",
      path: "/api/v1/sandboxes/{id}/execute_code",
      tag,
      summary: "Runs Python, Node or shell code, and waits or streams",
      permission: "use",
      audit: "fleet",
      params: sandboxId,
      body: codeBody,
      bodyBytes: httpLimits.codeBodyBytes,
      responses,
      handler: (call) => {
        const { language, code } = call.body;
        const job = { id: newRunId(), kind: "code", command: code, beside: { language } } as const;
        return run(fleet, call, job, (sandbox, options) => sandbox.startCode({ ...options, language, code }));
      },
    }),
  ];
}
