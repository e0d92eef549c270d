import { z } from "zod";
import type { CreateSandbox, Fleet } from "../core/fleet.ts";
import { sandboxStates } from "../core/lifecycle.ts";
import { defined } from "../lib/defined.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { linkAfter, pageHeaders, pageQuery } from "../schemas/page.ts";
import {
  changeSandbox,
  createSandbox,
  environment,
  sandbox,
  sandboxId,
  sessionKey,
  showSandbox,
  toChanges,
  toCreateRequest,
} from "../schemas/sandbox.ts";
import { defineRoute, type Route } from "./route.ts";

const path = "/api/v1/sandboxes";
const tag = "sandboxes";

interface SandboxRouteParts {
  create: CreateSandbox;
  fleet: Fleet<Sandbox>;
}

export function sandboxRoutes({ fleet, ...parts }: SandboxRouteParts): Route[] {
  const create = defineRoute({
    method: "POST",
    path,
    tag,
    summary: "Creates a sandbox, or returns the session's existing one",
    scope: "use",
    audit: "fleet",
    body: createSandbox,
    bodyOptional: true,
    idempotent: true,
    problems: [404, 504],
    responses: {
      201: { description: "the new sandbox", schema: sandbox },
      200: { description: "the existing sandbox of this session_key", schema: sandbox },
    },
    handler: async ({ caller, body }) => {
      const { record, isNew } = await parts.create(caller, toCreateRequest(body));
      return { status: isNew ? 201 : 200, json: showSandbox(record), headers: { location: `${path}/${record.id}` } };
    },
  });

  const list = defineRoute({
    method: "GET",
    path,
    tag,
    summary: "Lists sandboxes, newest first",
    scope: "read",
    audit: null,
    query: pageQuery.extend({
      status: z.enum(sandboxStates).optional(),
      session_key: sessionKey.optional(),
    }),
    responses: {
      200: {
        description: "a page of sandboxes",
        schema: z.array(sandbox),
        headers: pageHeaders,
      },
    },
    handler: async ({ caller, query, request }) => {
      const { limit, cursor, status, session_key } = query;
      const asked = defined({ cursor, status, sessionKey: session_key });
      const records = await fleet.list(caller, { ...asked, limit });
      const headers = linkAfter(records, limit, request.url, ({ id }) => id);
      return { status: 200, json: records.map(showSandbox), headers };
    },
  });

  const get = defineRoute({
    method: "GET",
    path: `${path}/{id}`,
    tag,
    summary: "Returns a sandbox",
    scope: "read",
    audit: null,
    params: sandboxId,
    responses: { 200: { description: "the sandbox", schema: sandbox } },
    handler: async ({ caller, params }) => ({ status: 200, json: showSandbox(await fleet.get(caller, params.id)) }),
  });

  const change = defineRoute({
    method: "PATCH",
    path: `${path}/{id}`,
    tag,
    summary: "Changes fields of a sandbox",
    scope: "use",
    audit: "fleet",
    params: sandboxId,
    body: changeSandbox,
    responses: { 200: { description: "the sandbox", schema: sandbox } },
    handler: async ({ caller, params, body }) => ({
      status: 200,
      json: showSandbox(await fleet.change(caller, params.id, toChanges(body))),
    }),
  });

  const showEnvironment = defineRoute({
    method: "GET",
    path: `${path}/{id}/env`,
    tag,
    summary: "Returns the environment variables of a sandbox with their values; secrets are not included",
    scope: "use",
    audit: null,
    params: sandboxId,
    responses: { 200: { description: "values by name", schema: environment } },
    handler: async ({ caller, params }) => ({ status: 200, json: (await fleet.get(caller, params.id)).env }),
  });

  const destroy = defineRoute({
    method: "DELETE",
    path: `${path}/{id}`,
    tag,
    summary: "Destroys a sandbox and wipes its workspace",
    scope: "use",
    audit: "fleet",
    params: sandboxId,
    responses: { 204: { description: "the sandbox is destroyed" } },
    handler: async ({ caller, params }) => {
      await fleet.destroy(caller, params.id);
      return { status: 204 };
    },
  });

  return [create, list, get, change, showEnvironment, destroy, ...moves.map((move) => moveRoute(fleet, move))];
}

const moves = [
  { verb: "start", summary: "Starts a stopped or failed sandbox, with its workspace" },
  { verb: "stop", summary: "Ends what runs; the workspace stays" },
  { verb: "pause", summary: "Freezes every process" },
  { verb: "resume", summary: "Lets a paused sandbox go on" },
  { verb: "reset", summary: "Ends what runs and empties the workspace" },
] as const;

function moveRoute(fleet: Fleet<Sandbox>, { verb, summary }: (typeof moves)[number]): Route {
  return defineRoute({
    method: "POST",
    path: `${path}/{id}/${verb}`,
    tag,
    summary,
    scope: "use",
    audit: "fleet",
    params: sandboxId,
    responses: { 200: { description: "the sandbox", schema: sandbox } },
    handler: async ({ caller, params }) => ({ status: 200, json: showSandbox(await fleet[verb](caller, params.id)) }),
  });
}
