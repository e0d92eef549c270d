import { z } from "zod";
import { AppError } from "../core/errors.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { parseJson } from "../core/parse-json.ts";
import type { Caller } from "../core/principal.ts";
import { isAllowed } from "../core/scope.ts";
import type { CallStats, DeployRequest, HostedServers, ServerRecord } from "../core/server.ts";
import { defined } from "../lib/defined.ts";
import {
  changeServer,
  deployServer,
  server,
  serverId,
  showServer,
  toConfig,
  toDeploy,
  uploadConfig,
  uploadQuery,
} from "../schemas/server.ts";
import { serverVersion, showVersion } from "../schemas/server-version.ts";
import { writtenFlag } from "../schemas/written.ts";
import { serverLimits } from "../servers/limits.ts";
import { streamed, streamFormat } from "./live-stream.ts";
import { isPieces } from "./request-body.ts";
import { defineRoute, type Route } from "./route.ts";
import { serverVersionRoutes } from "./server-versions.ts";
import { anyOf, message } from "./stream-messages.ts";
import { Upload } from "./upload.ts";

const path = "/api/v1/servers";
const one = `${path}/{server}`;
const tag = "servers";

const deployed = z.object({ server, version: serverVersion }).meta({ id: "DeployedServer" });

const output = anyOf("ServerLogMessage", [
  message("ServerOutputMessage", "log", { data: z.string() }),
  message("ServerLogEndMessage", "end", {}, "the log has ended; the last message"),
]);

export interface ServerRouteParts {
  servers: HostedServers;
  /** Tool calls of a server. */
  stats: (serverId: string) => CallStats;
  /** Origin under which clients reach this daemon. */
  origin: () => string;
}

/** MCP servers of others, each in a sandbox of its own (HOS-01, HOS-03, HOS-10). */
export function serverRoutes(parts: ServerRouteParts): Route[] {
  const { servers, stats, origin } = parts;

  const show = async (caller: Caller, record: ServerRecord) =>
    showServer({
      record,
      status: await servers.status(caller, record.id),
      stats: stats(record.id),
      endpoint: `${origin()}/sandbox/${record.id}/mcp`,
      showsEnv: isAllowed(caller.principal, "use"),
    });

  /** One that is deleted meanwhile is left out. */
  const showIfThere = async (caller: Caller, record: ServerRecord) => {
    try {
      return [await show(caller, record)];
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return [];
      throw error;
    }
  };

  const showNow = async (caller: Caller, id: string) => ({
    status: 200,
    json: await show(caller, await servers.get(caller, id)),
  });

  return [
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Deploys an MCP server, or a new version of one: a package or URL as JSON, or an uploaded .tar.gz",
      scope: "use",
      audit: "fleet",
      query: uploadQuery,
      body: deployServer,
      raw: ["application/gzip", "*/*"],
      problems: [404, 422, 504],
      responses: { 202: { description: "the version is being built; its log shows the progress", schema: deployed } },
      handler: async ({ caller, query, body, openStream }) => {
        const release = openStream();
        try {
          const made = isPieces(body)
            ? await servers.deploy(caller, toUpload(query), new Upload(body, serverLimits.archiveBytes))
            : await servers.deploy(caller, toDeploy(withoutQuery(query, body)));
          const json = { server: await show(caller, made.server), version: showVersion(made.version) };
          return { status: 202, json, headers: { location: `${path}/${made.server.id}` } };
        } finally {
          release();
        }
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists hosted servers, newest first",
      scope: "read",
      audit: null,
      responses: { 200: { description: "all servers of the namespace", schema: z.array(server) } },
      handler: async ({ caller }) => {
        const records = await servers.list(caller);
        const shown = await Promise.all(records.map((record) => showIfThere(caller, record)));
        return { status: 200, json: shown.flat() };
      },
    }),
    defineRoute({
      method: "GET",
      path: one,
      tag,
      summary: "Returns a server with its state, statistics and endpoint",
      scope: "read",
      audit: null,
      params: serverId,
      responses: { 200: { description: "the server", schema: server } },
      handler: ({ caller, params }) => showNow(caller, params.server),
    }),
    defineRoute({
      method: "PATCH",
      path: one,
      tag,
      summary:
        "Changes settings; network, secrets and limits at once, the others by a restart that the answer announces",
      scope: "use",
      audit: "fleet",
      params: serverId,
      body: changeServer,
      problems: [422],
      responses: {
        200: {
          description:
            "the server; restarted: its sandboxes were stopped, and the next call starts it with the new settings",
          schema: server.extend({ restarted: z.boolean() }).meta({ id: "ChangedServer" }),
        },
      },
      handler: async ({ caller, params, body }) => {
        const changed = await servers.change(caller, params.server, toConfig(body));
        return { status: 200, json: { ...(await show(caller, changed.server)), restarted: changed.restarted } };
      },
    }),
    defineRoute({
      method: "DELETE",
      path: one,
      tag,
      summary: "Deletes a server with its versions, its /data and its log",
      scope: "use",
      audit: "fleet",
      params: serverId,
      responses: { 204: { description: "the server is deleted" } },
      handler: async ({ caller, params }) => {
        await servers.delete(caller, params.server);
        return { status: 204 };
      },
    }),
    ...(["restart", "stop"] as const).map((verb) =>
      defineRoute({
        method: "POST",
        path: `${one}/${verb}`,
        tag,
        summary: verb === "stop" ? "Stops a server; the next call starts it" : "Stops and starts a server",
        scope: "use",
        audit: "fleet",
        params: serverId,
        problems: [422, 504],
        responses: { 200: { description: "the server", schema: server } },
        handler: async ({ caller, params }) => {
          await servers[verb](caller, params.server);
          return showNow(caller, params.server);
        },
      }),
    ),
    defineRoute({
      method: "GET",
      path: `${one}/logs`,
      tag,
      summary: "Streams the output of a server, oldest first",
      scope: "read",
      audit: null,
      params: serverId,
      query: z.strictObject({
        follow: writtenFlag.optional().describe("go on with what the server writes from now on"),
      }),
      responses: { 200: { description: "messages `log`, and `end` as the last", messages: output } },
      handler: (call) =>
        streamed(call, streamFormat(call.request.headers.accept) ?? "sse", async (begin) => {
          const { caller, params, query } = call;
          await servers.get(caller, params.server);
          const live = begin();
          const options = { follow: query.follow === true, gone: live.gone };
          for await (const data of servers.logs(caller, params.server, options)) await live.send("log", { data });
          await live.send("end", {});
        }),
    }),
    ...serverVersionRoutes(servers),
  ];
}

function toUpload({ name, config }: z.output<typeof uploadQuery>): DeployRequest {
  const { rebuild, ...body } = config === undefined ? {} : readConfig(config);
  return { source: { kind: "archive" }, config: toConfig(body), ...defined({ name, rebuild }) };
}

function withoutQuery<T>(query: z.output<typeof uploadQuery>, body: T): T {
  const [field] = Object.keys(query);
  if (field === undefined) return body;
  throw new AppError("invalid", `query.${field} is for uploads`, { hint: `put ${field} into the JSON body` });
}

function readConfig(text: string): z.output<typeof uploadConfig> {
  const parsed = uploadConfig.safeParse(readJson(text));
  if (parsed.success) return parsed.data;
  const [first] = parsed.error.issues;
  const at = ["query.config", ...(first?.path ?? [])].join(".").slice(0, 200);
  throw new AppError("invalid", `${at}: ${first?.message.slice(0, 300)}`);
}

function readJson(text: string): unknown {
  try {
    return parseJson(text, jsonLimits.request);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("invalid", "query.config is not JSON", { cause: error });
  }
}
