import { z } from "zod";
import { type Command, lineOrArgv, toCommand, type What } from "../core/command.ts";
import type { Fleet } from "../core/fleet.ts";
import { languages } from "../core/language.ts";
import type { RunResult } from "../core/run.ts";
import { defined } from "../lib/defined.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { command, commandFields, runFields, runResult } from "../schemas/run.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { runHeaders, runHeadersDescribed } from "./headers.ts";
import { httpLimits } from "./limits.ts";
import { askedFormat, type LiveStream, OutputMessages, type StreamFormat, streamed } from "./live-stream.ts";
import { type Call, defineRoute, type Route, type RouteResponse } from "./route.ts";
import { anyOf, message, output } from "./stream-messages.ts";

const tag = "exec";

const execBody = z.strictObject({ command, ...runFields }).meta({ id: "Exec" });
const codeBody = z
  .strictObject({ language: z.enum(languages), code: z.string(), ...runFields })
  .meta({ id: "ExecuteCode" });

type Fields = Omit<z.output<typeof execBody>, "command">;
type RunCall = Call<z.output<typeof sandboxId>, undefined, Fields>;

/** What was written has come before. */
const { stdout: _, stderr: __, ...ended } = runResult.shape;

const responses = {
  200: {
    description: "the result, with any exit code; or a stream of output that ends with a message of type `result`",
    schema: runResult,
    headers: runHeadersDescribed,
    messages: anyOf("RunMessage", [...output, message("RunResultMessage", "result", ended)]),
  },
};

async function run(fleet: Fleet<Sandbox>, call: RunCall, what: What): Promise<RouteResponse> {
  const { caller, params, body, signal } = call;
  const command = toCommand({ what, ...commandFields(body) });
  const format = askedFormat(body.stream, call.request.headers.accept);
  if (format !== undefined) return stream(fleet, call, command, format);
  const { priority, track_files: trackFiles } = body;
  const result = await fleet.run(caller, params.id, command, defined({ priority, signal }), (sandbox) =>
    sandbox.run(defined({ signal, trackFiles })),
  );
  return { status: 200, json: result, headers: runHeaders(command.id) };
}

/** A client that goes away ends its run. */
function stream(fleet: Fleet<Sandbox>, call: RunCall, command: Command, format: StreamFormat): Promise<RouteResponse> {
  const { caller, params, body, signal } = call;
  const { priority, track_files: trackFiles } = body;
  const work = async (begin: () => LiveStream) => {
    const output = new OutputMessages(begin, body.encoding ?? "utf8");
    const options = defined({ priority, signal, streams: true });
    const result: RunResult = await fleet.run(caller, params.id, command, options, async (sandbox) => {
      const started = await sandbox.start(defined({ signal, trackFiles, onOutput: output.send }));
      const live: LiveStream = begin();
      live.gone.addEventListener("abort", () => started.kill(), { once: true });
      if (live.gone.aborted) started.kill();
      return started.result;
    });
    output.end();
    const { stdout: _, stderr: __, ...shown } = result;
    await begin().send("result", shown);
  };
  return streamed(call, format, work, runHeaders(command.id));
}

export function execRoutes(fleet: Fleet<Sandbox>): Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/api/v1/sandboxes/{id}/exec",
      tag,
      summary: "Runs a command; returns the result or streams the output",
      scope: "use",
      audit: "fleet",
      params: sandboxId,
      body: execBody,
      bodyBytes: httpLimits.codeBodyBytes,
      responses,
      handler: (call) => run(fleet, call, lineOrArgv(call.body.command)),
    }),
    defineRoute({
      method: "POST",
      path: "/api/v1/sandboxes/{id}/execute_code",
      tag,
      summary: "Runs Python, Node or shell code; returns the result or streams the output",
      scope: "use",
      audit: "fleet",
      params: sandboxId,
      body: codeBody,
      bodyBytes: httpLimits.codeBodyBytes,
      responses,
      handler: (call) => {
        const { language, code } = call.body;
        return run(fleet, call, { language, code });
      },
    }),
  ];
}
