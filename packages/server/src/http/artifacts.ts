import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import { jsonLimits } from "../core/json-limits.ts";
import type { Signer } from "../core/manifest.ts";
import { artifactLimits } from "../sandboxes/limits.ts";
import { verifyFile, verifyManifest } from "../sandboxes/manifest.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { artifact, manifest } from "../schemas/artifact.ts";
import { filePath, sandboxId } from "../schemas/sandbox.ts";
import { defineOpenRoute, defineRoute, type Route } from "./route.ts";

const path = "/api/v1/sandboxes/{id}/artifacts";
const tag = "artifacts";

const verifyBody = z
  .strictObject({
    manifest,
    path: filePath.optional(),
    content_base64: z.string().optional().describe("content of the file at path"),
  })
  .meta({ id: "VerifyArtifact" });

/** What a sandbox left in /workspace/output (EXE-09). */
export function artifactRoutes(fleet: Fleet<Sandbox>, signer: () => Promise<Signer>): Route[] {
  return [
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists the files in /workspace/output with their hashes",
      scope: "read",
      audit: null,
      params: sandboxId,
      responses: { 200: { description: "all files", schema: z.array(artifact) } },
      handler: async ({ caller, params }) => {
        const json = await fleet.use(caller, params.id, (sandbox) => sandbox.artifacts.list());
        return { status: 200, json };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/content/{path}`,
      tag,
      summary: "Returns a file from /workspace/output, with its content in base64",
      scope: "read",
      audit: ["file.read"],
      params: sandboxId.extend({ path: filePath.min(1) }),
      responses: { 200: { description: "the file", schema: artifact.extend({ content_base64: z.string() }) } },
      handler: async ({ caller, params, record }) => {
        const json = await fleet.use(caller, params.id, (sandbox) => sandbox.artifacts.read(params.path));
        record({ type: "file.read", sandboxId: params.id, data: { path: params.path, kind: "artifact" } });
        return { status: 200, json };
      },
    }),
    defineRoute({
      method: "POST",
      path: `${path}/manifest`,
      tag,
      summary: "Returns a signed manifest (Ed25519) of the files in /workspace/output",
      scope: "use",
      audit: ["artifact.signed"],
      params: sandboxId,
      responses: { 200: { description: "the manifest", schema: manifest } },
      handler: async ({ caller, params, record }) => {
        const json = await fleet.use(caller, params.id, (sandbox) => sandbox.artifacts.sign());
        const data = { files: json.files.length, signature: json.signature };
        record({ type: "artifact.signed", sandboxId: params.id, data });
        return { status: 200, json };
      },
    }),
    defineRoute({
      method: "POST",
      path: "/api/v1/artifacts/verify",
      tag,
      summary: "Checks the signature of a manifest, and a file against the manifest",
      scope: "read",
      audit: null,
      body: verifyBody,
      bodyBytes: Math.ceil(artifactLimits.contentBytes * 1.4),
      bodyShape: jsonLimits.data, // a manifest names thousands of files
      responses: {
        200: {
          description: "the result of the check",
          schema: z.object({ valid: z.boolean(), reason: z.string().nullable() }),
        },
      },
      handler: async ({ body }) => {
        const { publicKey } = await signer();
        try {
          if (body.path === undefined) verifyManifest(body.manifest, publicKey);
          else verifyFile(body.manifest, publicKey, body.path, Buffer.from(body.content_base64 ?? "", "base64"));
          return { status: 200, json: { valid: true, reason: null } };
        } catch (error) {
          if (!(error instanceof AppError) || error.code === "internal") throw error;
          return { status: 200, json: { valid: false, reason: error.message } };
        }
      },
    }),
    defineOpenRoute({
      method: "GET",
      path: "/api/v1/signing-key",
      tag,
      summary: "Returns the public key that verifies manifests",
      responses: {
        200: {
          description: "the public key: SPKI in PEM",
          schema: z.object({ algorithm: z.literal("Ed25519"), public_key: z.string() }),
        },
      },
      handler: async () => ({
        status: 200,
        json: { algorithm: "Ed25519", public_key: (await signer()).publicKey },
      }),
    }),
  ];
}
