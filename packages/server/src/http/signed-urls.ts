import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import type { Happening, Recorder } from "../core/journal.ts";
import { isAllowed, requireScope, type Scope } from "../core/scope.ts";
import type { Keyring } from "../identity/keyring.ts";
import { type SignedPass, UrlSigner } from "../identity/url-signer.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { getFile, putFile } from "./files.ts";
import { httpLimits } from "./limits.ts";
import type { OpenStreams } from "./open-streams.ts";
import { type Call, defineOpenRoute, defineRoute, type OpenCall, type Route, type RouteResponse } from "./route.ts";
import { Upload } from "./upload.ts";

const tag = "files";
const usedPath = "/api/v1/signed/{pass}";
const pass = z.strictObject({ pass: z.string().min(1).max(8192) });

const createBody = z
  .strictObject({
    method: z.enum(["GET", "PUT"]),
    path: z.string().min(1).max(2048),
    expires_in_seconds: z
      .number()
      .min(httpLimits.signedUrlSeconds.min)
      .max(httpLimits.signedUrlSeconds.max)
      .default(httpLimits.signedUrlSeconds.default),
    max_bytes: z.number().int().min(0).optional().describe("maximum size of an upload"),
  })
  .meta({ id: "CreateSignedUrl" });

export interface SignedUrlParts {
  fleet: Fleet<Sandbox>;
  keyring: Keyring;
  journal: Recorder;
  streams: OpenStreams;
  /** Start of each URL; if unset, the client's own way to the daemon. */
  publicUrl?: string | null | undefined;
}

/** Scope that the key must have when the URL is made and when it is used. */
const scopeOf = (method: "GET" | "PUT"): Scope => (method === "PUT" ? "use" : "read");

type UseCall = OpenCall<z.output<typeof pass>, unknown, unknown>;

/** One upload or download for whoever holds the URL, in the name of the key that asked for it (FIL-06). */
export function signedUrlRoutes({ fleet, keyring, journal, streams, publicUrl }: SignedUrlParts): Route[] {
  const signer = new UrlSigner();

  /** The key must still be good, and may have lost nothing that the URL needs. */
  const use = async (
    call: UseCall,
    method: "GET" | "PUT",
    act: (pass: SignedPass, call: FileUse) => Promise<RouteResponse>,
  ) => {
    const found = signer.open(call.params.pass, method);
    const principal = await keyring.principalOf(found.keyId);
    if (principal === undefined || !isAllowed(principal, scopeOf(method)))
      throw new AppError("forbidden", "this signed URL is no longer valid");
    journal.requireRoom({ ...principal, namespace: found.namespace });
    signer.use(found);
    const done: Happening[] = [];
    const caller = { principal: { ...principal, namespace: found.namespace }, requestId: call.requestId };
    try {
      const answer = await act(found, {
        caller,
        params: { id: found.sandboxId, path: found.path },
        request: call.request,
        signal: call.signal,
        openStream: () => streams.open(principal.id, () => call.request.raw.socket.destroy()),
        record: (happening) => done.push(happening),
      });
      for (const happening of done) await journal.record({ ...happening, by: caller });
      return answer;
    } catch (error) {
      signer.giveBack(found); // nothing was sent or written
      throw error;
    }
  };

  return [
    defineRoute({
      method: "POST",
      path: "/api/v1/sandboxes/{id}/signed-urls",
      tag,
      summary: "Creates a signed URL for one upload or download without an API key",
      scope: "use",
      audit: ["signed_url.created"],
      params: sandboxId,
      body: createBody,
      responses: {
        201: {
          description: "the URL; it works once and expires at this time",
          schema: z.object({
            url: z.string().describe("a path of this server, or a URL if the setting public_url is set"),
            expires_at: z.iso.datetime(),
          }),
        },
      },
      handler: async ({ caller, params, body, record }) => {
        requireScope(caller.principal, scopeOf(body.method));
        await fleet.get(caller, params.id);
        const expiresAtMs = Date.now() + body.expires_in_seconds * 1000;
        const token = signer.sign({
          keyId: caller.principal.id,
          namespace: caller.principal.namespace,
          sandboxId: params.id,
          method: body.method,
          path: body.path,
          expiresAtMs,
          mostBytes: body.max_bytes ?? null,
        });
        const expires_at = new Date(expiresAtMs).toISOString();
        const data = { method: body.method, path: body.path, expires_at };
        record({ type: "signed_url.created", sandboxId: params.id, data });
        const url = `${publicUrl ?? ""}${usedPath.replace("{pass}", token)}`;
        return { status: 201, json: { url, expires_at } };
      },
    }),
    defineOpenRoute({
      method: "GET",
      path: usedPath,
      tag,
      summary: "Downloads a file by a signed URL",
      params: pass,
      responses: {
        200: { description: "the file, as an attachment", media: ["application/octet-stream"] },
        206: { description: "the requested range", media: ["application/octet-stream"] },
      },
      handler: (call) => use(call, "GET", (_, file) => getFile(fleet, file)),
    }),
    defineOpenRoute({
      method: "PUT",
      path: usedPath,
      tag,
      summary: "Uploads a file by a signed URL",
      params: pass,
      raw: ["application/octet-stream", "*/*"],
      bodyOptional: true,
      responses: { 204: { description: "the file is written completely" } },
      handler: (call) =>
        use(call, "PUT", ({ mostBytes }, file) => putFile(fleet, file, new Upload(call.body, mostBytes ?? undefined))),
    }),
  ];
}

type FileUse = Pick<
  Call<{ id: string; path: string }, unknown, unknown>,
  "caller" | "params" | "request" | "signal" | "openStream" | "record"
>;
