import { z } from "zod";
import { contextLanguages } from "../core/context.ts";
import { defined } from "../core/defined.ts";
import type { Fleet } from "../core/fleet.ts";
import { httpLimits } from "../core/http-limits.ts";
import { newRunId } from "../core/run-id.ts";
import type { CodeContext } from "../sandboxes/code-context.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { context, contextId, contextRunResult, createBody, runBody, showContext } from "../schemas/context.ts";
import { toRunLimits } from "../schemas/run.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { runHeaders, runHeadersDescribed } from "./headers.ts";
import { askedFormat, type LiveStream, OutputMessages, type StreamFormat, streamed } from "./live-stream.ts";
import { type Answer, type Call, defineRoute, type Route } from "./route.ts";
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
      permission: "use",
      audit: [`context.${name}ed`],
      params: contextId,
      responses: { 200: { description: "as it is now", schema: context } },
      handler: async (call) => {
        const json = await withContext(call, async (found) => {
          await found[name]();
          return showContext(found);
        });
        const detail = { context_id: call.params.context };
        call.note({ type: `context.${name}ed`, sandboxId: call.params.id, detail });
        return { status: 200, json };
      },
    });

  return [
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Starts an interpreter whose variables live on",
      permission: "use",
      audit: ["context.created"],
      params: sandboxId,
      body: createBody,
      idempotent: true,
      responses: { 201: { description: "it waits for code", schema: context } },
      handler: async ({ caller, params, body, note }) => {
        const { language, cwd, env } = body;
        const limits = toRunLimits(body);
        const json = await fleet.use(caller, params.id, async (sandbox) =>
          showContext(await sandbox.contexts.create({ language, limits, ...defined({ cwd, env }) })),
        );
        note({ type: "context.created", sandboxId: params.id, detail: { context_id: json.id, language } });
        return { status: 201, json };
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: `Lists code contexts (${contextLanguages.join(", ")})`,
      permission: "read",
      audit: null,
      params: sandboxId,
      responses: { 200: { description: "all of them", schema: z.array(context) } },
      handler: async ({ caller, params }) => {
        const json = await fleet.use(caller, params.id, async (sandbox) => sandbox.contexts.list().map(showContext));
        return { status: 200, json };
      },
    }),
    defineRoute({
      method: "POST",
      path: `${one}/run`,
      tag,
      summary: "Runs code in a context, and waits or streams",
      permission: "use",
      audit: "fleet",
      params: contextId,
      body: runBody,
      bodyBytes: httpLimits.codeBodyBytes,
      responses: {
        200: {
          description: "what came of it; or its output as it comes, then a message of type `result`",
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
      summary: "Ends a context",
      permission: "use",
      audit: ["context.deleted"],
      params: contextId,
      responses: { 204: { description: "it is gone" } },
      handler: async (call) => {
        await withContext(call, (found) => found.dispose());
        call.note({ type: "context.deleted", sandboxId: call.params.id, detail: { context_id: call.params.context } });
        return { status: 204 };
      },
    }),
  ];
}

function toOptions(body: RunCall["body"]) {
  return { limits: toRunLimits(body), ...defined({ stdin: body.stdin }) };
}

async function run(fleet: Fleet<Sandbox>, { caller, params, body, signal }: RunCall): Promise<Answer> {
  const id = newRunId();
  const job = { id, kind: "code", command: body.code, beside: defined({ stdin: body.stdin }), signal } as const;
  const json = await fleet.run(caller, params.id, job, (sandbox) =>
    sandbox.contexts.get(params.context).run(body.code, { id, ...toOptions(body), signal }),
  );
  return { status: 200, json, headers: runHeaders(id) };
}

/** A client that goes away interrupts its code; the context lives on. */
function stream(fleet: Fleet<Sandbox>, call: RunCall, format: StreamFormat): Promise<Answer> {
  const { caller, params, body, signal } = call;
  const id = newRunId();
  const work = async (begin: () => LiveStream) => {
    const output = new OutputMessages(begin, body.encoding ?? "utf8");
    const beside = defined({ stdin: body.stdin });
    const job = { id, kind: "code", command: body.code, beside, streams: true, signal } as const;
    const result = await fleet.run(caller, params.id, job, (sandbox) =>
      sandbox.contexts.get(params.context).run(body.code, {
        id,
        ...toOptions(body),
        signal,
        onStdout: (chunk) => output.send("stdout", chunk),
        onStderr: (chunk) => output.send("stderr", chunk),
      }),
    );
    output.end();
    const { stdout: _, stderr: __, ...shown } = result;
    await begin().send("result", shown);
  };
  return streamed(call, format, work, runHeaders(id));
}
