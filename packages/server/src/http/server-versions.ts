import { z } from "zod";
import type { HostedServers } from "../core/server.ts";
import { serverId } from "../schemas/server.ts";
import {
  diffQuery,
  rollbackBody,
  serverVersion,
  serverVersionDetail,
  showDifferences,
  showVersion,
  showVersionDetail,
  versionDiff,
  versionId,
} from "../schemas/server-version.ts";
import { streamed, streamFormat } from "./live-stream.ts";
import { defineRoute, type Route } from "./route.ts";
import { anyOf, message } from "./stream-messages.ts";

const path = "/api/v1/servers/{server}";
const versions = `${path}/versions`;
const version = `${versions}/{version}`;
const tag = "servers";

const { state, step, error } = serverVersion.shape;
const buildLog = anyOf("ServerBuildMessage", [
  message("ServerStepMessage", "step", { step: z.string() }),
  message("ServerBuildOutputMessage", "log", { data: z.string() }),
  message("ServerBuildEndMessage", "end", { state, step, error }),
]);

/** Versions of hosted servers: each deploy is one (HOS-03, HOS-11). */
export function serverVersionRoutes(servers: HostedServers): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: versions,
      tag,
      summary: "Lists the versions of a server, newest first",
      scope: "read",
      audit: null,
      params: serverId,
      responses: { 200: { description: "the versions that are kept", schema: z.array(serverVersion) } },
      handler: async ({ caller, params }) => {
        const found = await servers.versions(caller, params.server);
        return { status: 200, json: found.map(showVersion) };
      },
    }),
    defineRoute({
      method: "GET",
      path: version,
      tag,
      summary: "Returns a version with the packages that its build installed",
      scope: "read",
      audit: null,
      params: versionId,
      responses: { 200: { description: "the version", schema: serverVersionDetail } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: showVersionDetail(await servers.version(caller, params.server, params.version)),
      }),
    }),
    defineRoute({
      method: "GET",
      path: `${version}/log`,
      tag,
      summary: "Streams the build log of a version from its beginning, until the build and the check end",
      scope: "read",
      audit: null,
      params: versionId,
      responses: { 200: { description: "messages `step` and `log`, and `end` as the last", messages: buildLog } },
      handler: (call) =>
        streamed(call, streamFormat(call.request.headers.accept) ?? "sse", async (begin) => {
          const { caller, params } = call;
          await servers.version(caller, params.server, params.version);
          const live = begin();
          const messages = servers.buildLog(caller, params.server, params.version, live.gone);
          for await (const { type, ...data } of messages) await live.send(type, data);
        }),
    }),
    defineRoute({
      method: "GET",
      path: `${path}/diff`,
      tag,
      summary: "Lists the differences between two versions",
      scope: "read",
      audit: null,
      params: serverId,
      query: diffQuery,
      responses: { 200: { description: "fields that differ", schema: versionDiff } },
      handler: async ({ caller, params, query }) => ({
        status: 200,
        json: showDifferences(await servers.diff(caller, params.server, query.from, query.to)),
      }),
    }),
    defineRoute({
      method: "POST",
      path: `${version}/rollback`,
      tag,
      summary: "Checks an older version and lets it answer calls; settings and secrets stay as they are now",
      scope: "use",
      audit: "fleet",
      params: versionId,
      body: rollbackBody,
      bodyOptional: true,
      problems: [422, 504],
      responses: { 200: { description: "the version", schema: serverVersion } },
      handler: async ({ caller, params, body }) => ({
        status: 200,
        json: showVersion(await servers.rollback(caller, params.server, params.version, { data: body.data })),
      }),
    }),
    defineRoute({
      method: "POST",
      path: `${version}/confirm`,
      tag,
      summary: "Confirms a held version, which then runs with the server's secrets",
      scope: "operate",
      audit: "fleet",
      params: versionId,
      problems: [422, 504],
      responses: { 200: { description: "the version", schema: serverVersion } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: showVersion(await servers.confirm(caller, params.server, params.version)),
      }),
    }),
  ];
}
