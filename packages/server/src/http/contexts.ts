import { z } from "zod";
import { type Command, contextCommand, toCommand } from "../core/command.ts";
import { contextLanguages } from "../core/context.ts";
import type { Fleet } from "../core/fleet.ts";
import { defined } from "../lib/defined.ts";
import type { CodeContext } from "../sandboxes/code-context.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { context, contextId, contextRunResult, createBody, runBody, showContext } from "../schemas/context.ts";
import { commandFields, toRunLimits } from "../schemas/run.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { runHeaders, runHeadersDescribed } from "./headers.ts";
import { httpLimits } from "./limits.ts";
import { askedFormat, type LiveStream, OutputMessages, type StreamFormat, streamed } from "./live-stream.ts";
import { type Call, defineRoute, type Route, type RouteResponse } from "./route.ts";
import { anyOf, message, output } from "./stream-messages.ts";

const path = "/api/v1/sandboxes/{id}/contexts";
const one = `${path}/{context}`;
const tag = "contexts";

/** What was written has come before. */
const { stdout: _, stderr: __, ...ended } = contextRunResult.shape;
const messages = anyOf("ContextMessage", [...output, message("ContextResultMessage", "result", ended)]);

type OneCall = Pick<Call<z.output<typeof contextId>, unknown, unknown>, "caller" | "params">;
type RunCall = Call<z.output<typeof contextId>, undefined, z.output<typeof runBody>>;

export function contextRoutes(fleet: Fleet<Sandbox>): Route[] {
  const withContext = <T>({ caller, params }: OneCall, act: (context: CodeContext) => Promise<T>): Promise<T> =>
    fleet.use(caller, params.id, async (sandbox) => act(sandbox.contexts.get(params.context)));

  /** A verb without a body, of one context. */
  const verb = (name: "interrupt" | "restart", summary: string): Route =>
    defineRoute({
      method: "POST",
      path: `${one}/${name}`,
      tag,
      summary,
      scope: "use",
      audit: [`context.${name}ed`],
      params: contextId,
      responses: { 200: { description: "the context", schema: context } },
      handler: async (call) => {
        const json = await withContext(call, async (found) => {
          await found[name]();
          return showContext(found);
        });
        const data = { context_id: call.params.context };
        call.record({ type: `context.${name}ed`, sandboxId: call.params.id, data });
        return { status: 200, json };
      },
    });

  return [
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Creates a code context: an interpreter that keeps its variables between runs",
      scope: "use",
      audit: "fleet",
      params: sandboxId,
      body: createBody,
      idempotent: true,
      responses: { 201: { description: "the context, ready for code", schema: context } },
      handler: async ({ caller, params, body, signal }) => {
        const { language, cwd, env } = body;
        const command = contextCommand({ language, limits: toRunLimits(body), ...defined({ cwd, env }) });
        const json = await fleet.run(caller, params.id, command, { signal }, async (sandbox) =>
          showContext(await sandbox.createContext()),
        );
        return { status: 201, json };
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: `Lists code contexts (${contextLanguages.join(", ")})`,
      scope: "read",
      audit: null,
      params: sandboxId,
      responses: { 200: { description: "all contexts of the sandbox", schema: z.array(context) } },
      handler: async ({ caller, params }) => {
        const json = await fleet.use(caller, params.id, async (sandbox) => sandbox.contexts.list().map(showContext));
        return { status: 200, json };
      },
    }),
    defineRoute({
      method: "POST",
      path: `${one}/run`,
      tag,
      summary: "Runs code in a context; returns the result or streams the output",
      scope: "use",
      audit: "fleet",
      params: contextId,
      body: runBody,
      bodyBytes: httpLimits.codeBodyBytes,
      responses: {
        200: {
          description: "the result; or a stream of output that ends with a message of type `result`",
          schema: contextRunResult,
          headers: runHeadersDescribed,
          messages,
        },
      },
      handler: (call) => {
        const format = askedFormat(call.body.stream, call.request.headers.accept);
        return format === undefined ? run(fleet, call) : stream(fleet, call, format);
      },
    }),
    verb("interrupt", "Stops the code that runs, not the context"),
    verb("restart", "A new interpreter in its place"),
    defineRoute({
      method: "DELETE",
      path: one,
      tag,
      summary: "Deletes a code context and its interpreter",
      scope: "use",
      audit: ["context.deleted"],
      params: contextId,
      responses: { 204: { description: "the context is deleted" } },
      handler: async (call) => {
        await withContext(call, (found) => found.dispose());
        call.record({ type: "context.deleted", sandboxId: call.params.id, data: { context_id: call.params.context } });
        return { status: 204 };
      },
    }),
  ];
}

/** The code with the context that it runs in, whose folder, variables and limits are a part of what is judged. */
function commandOf(fleet: Fleet<Sandbox>, { caller, params, body }: RunCall): Promise<Command> {
  const { code, ...fields } = body;
  return fleet.use(caller, params.id, async ({ contexts }) => {
    const { language, use } = contexts.get(params.context);
    return toCommand({ ...commandFields(fields), what: { code, language, context: use } });
  });
}

async function run(fleet: Fleet<Sandbox>, call: RunCall): Promise<RouteResponse> {
  const { caller, params, signal } = call;
  const command = await commandOf(fleet, call);
  const json = await fleet.run(caller, params.id, command, { signal }, (sandbox) => sandbox.runInContext({ signal }));
  return { status: 200, json, headers: runHeaders(command.id) };
}

/** A client that goes away interrupts its code; the context lives on. */
async function stream(fleet: Fleet<Sandbox>, call: RunCall, format: StreamFormat): Promise<RouteResponse> {
  const { caller, params, body, signal } = call;
  const command = await commandOf(fleet, call);
  const work = async (begin: () => LiveStream) => {
    const output = new OutputMessages(begin, body.encoding ?? "utf8");
    const result = await fleet.run(caller, params.id, command, { signal, streams: true }, (sandbox) =>
      sandbox.runInContext({ signal, onOutput: output.send }),
    );
    output.end();
    const { stdout: _, stderr: __, ...shown } = result;
    await begin().send("result", shown);
  };
  return streamed(call, format, work, runHeaders(command.id));
}
