import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import { portVisibilities, type SharedPort } from "../core/port.ts";
import type { PortPasses } from "../identity/port-passes.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { SharedPorts } from "../sandboxes/shared-ports.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { written } from "../schemas/written.ts";
import { portLimits } from "./limits.ts";
import { askPort, askSocket, joinSocket, type PortRequest } from "./port-forward.ts";
import { pathAnswerHeaders } from "./port-headers.ts";
import { type Call, defineRoute, type Route, type RouteResponse } from "./route.ts";

const tag = "ports";
const path = "/api/v1/sandboxes/{id}/ports";
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

const number = written(z.number().int().min(1).max(65_535));
const portId = sandboxId.extend({ port: number });
const portPath = portId.extend({ path: z.string() });

export const port = z
  .object({
    port: z.number().int(),
    visibility: z
      .enum(portVisibilities)
      .describe("private: API key required; token: API key or link; public: everyone"),
    url: z.string().nullable().describe("URL for browsers; null if browsers cannot open the port"),
  })
  .meta({ id: "Port" });

const setPort = z.strictObject({ visibility: z.enum(portVisibilities) }).meta({ id: "SetPort" });

const linkBody = z
  .strictObject({
    port: z.number().int().min(1).max(65_535),
    expires_in_seconds: z
      .number()
      .min(portLimits.linkSeconds.min)
      .max(portLimits.linkSeconds.max)
      .default(portLimits.linkSeconds.default),
  })
  .meta({ id: "CreatePortLink" });

export const link = z.object({ url: z.string(), expires_at: z.iso.datetime() }).meta({ id: "PortLink" });

export interface PortParts {
  fleet: Fleet<Sandbox>;
  sharedPorts: SharedPorts;
  passes: PortPasses;
  /** Where a browser finds a port; null when nothing listens for browsers. */
  urlOf: (sandboxId: string, port: number) => string | null;
}

/** Ports of programs, for whoever has a key (NET-14). No cookie lets anybody in here. */
export function portRoutes({ fleet, sharedPorts, passes, urlOf }: PortParts): Route[] {
  const show = ({ sandboxId, port, visibility }: SharedPort) => ({
    port,
    visibility,
    url: visibility === "private" ? null : urlOf(sandboxId, port),
  });
  return [
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists the ports of a sandbox that can be opened without an API key",
      scope: "read",
      audit: null,
      params: sandboxId,
      responses: { 200: { description: "all such ports", schema: z.array(port) } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: (await sharedPorts.list(caller, params.id)).map(show),
      }),
    }),
    defineRoute({
      method: "PUT",
      path: `${path}/{port}`,
      tag,
      summary: "Sets who can open a port of a sandbox",
      scope: "operate",
      audit: ["port.shared"],
      params: portId,
      body: setPort,
      responses: { 200: { description: "the port as it is now shared", schema: port } },
      handler: async ({ caller, params, body }) => {
        const shared = { sandboxId: params.id, port: params.port, visibility: body.visibility };
        await sharedPorts.set(caller, shared);
        return { status: 200, json: show(shared) };
      },
    }),
    defineRoute({
      method: "POST",
      path: "/api/v1/sandboxes/{id}/port-links",
      tag,
      summary: "Creates a link that opens a port in a browser",
      scope: "use",
      audit: ["port.link"],
      params: sandboxId,
      body: linkBody,
      responses: {
        201: { description: "the link; it expires at this time or when the daemon restarts", schema: link },
      },
      handler: async ({ caller, params: { id }, body, record }) => {
        await fleet.get(caller, id);
        const url = urlOf(id, body.port);
        if (url === null) throw new AppError("unsupported", "this daemon has no address for ports in browsers");
        if (sharedPorts.visibilityOf(id, body.port) === "private")
          throw new AppError("conflict", `port ${body.port} is private`, {
            hint: `an operator can open it: caisson ports set ${id} ${body.port} token`,
          });
        const expiresAtMs = Date.now() + body.expires_in_seconds * 1000;
        const { id: keyId, namespace } = caller.principal;
        const token = passes.sign({ keyId, namespace, sandboxId: id, port: body.port, expiresAtMs });
        const expires_at = new Date(expiresAtMs).toISOString();
        record({ type: "port.link", sandboxId: id, data: { port: body.port, expires_at } });
        return { status: 201, json: { url: `${url}?caisson_token=${token}`, expires_at } };
      },
    }),
    ...methods.map((method) =>
      defineRoute({
        method,
        path: `${path}/{port}/{path}`,
        tag,
        summary: "Forwards a request to a port of the sandbox; GET can open a WebSocket",
        scope: "use",
        audit: ["port.request"],
        params: portPath,
        query: z.looseObject({}),
        raw: ["*/*"],
        bodyOptional: true,
        takesOver: true,
        responses: {
          200: { description: "the response of the program, with its status", media: ["*/*"] },
          101: { description: "a WebSocket" },
        },
        handler: (call) => {
          call.record({ type: "port.request", sandboxId: call.params.id, data: { port: call.params.port, method } });
          return forward(fleet, call, method);
        },
      }),
    ),
  ];
}

type PortCall = Call<z.output<typeof portPath>, unknown, unknown>;

/** The daemon's key stays with the daemon. */
const ofDaemon = [
  "authorization",
  "x-api-key",
  "x-caisson-namespace",
  "x-caisson-priority",
  "cookie",
  "origin",
  "referer",
  "idempotency-key",
];

function requestOf({ params, request }: PortCall, method: string): PortRequest {
  const base = `${path.replace("{id}", params.id)}/${params.port}`;
  const rest = (request.raw.url ?? "").slice(base.length) || "/";
  return { port: params.port, method, path: rest, raw: request.raw.rawHeaders, leaveOut: ofDaemon, added: [] };
}

/** The sandbox is lent for as long as the answer takes. */
function forward(fleet: Fleet<Sandbox>, call: PortCall, method: string): Promise<RouteResponse> {
  const release = call.openStream();
  const { promise, resolve, reject } = Promise.withResolvers<RouteResponse>();
  const { params, request } = call;
  const base = `${path.replace("{id}", params.id)}/${params.port}`;
  const isSocket = method === "GET" && request.headers.upgrade?.toLowerCase() === "websocket";
  fleet
    .use(call.caller, params.id, async (sandbox) => {
      const asked = requestOf(call, method);
      const body = request.body instanceof Readable ? request.body : undefined;
      const answer = isSocket ? await askSocket(sandbox, asked) : await askPort(sandbox, asked, body);
      if ("tunnel" in answer) {
        const done = Promise.withResolvers<void>();
        resolve({
          status: 101,
          takeOver: (socket) => void joinSocket(sandbox, socket, answer).then(done.resolve, done.reject),
        });
        return done.promise;
      }
      const stop = () => answer.body.destroy();
      call.signal.addEventListener("abort", stop, { once: true });
      if (call.signal.aborted) stop();
      resolve({ status: answer.status, headers: pathAnswerHeaders(answer.headers, base), stream: answer.body });
      await finished(answer.body).catch(() => undefined); // whoever reads it sees the error
    })
    .catch(reject)
    .finally(release);
  return promise;
}
