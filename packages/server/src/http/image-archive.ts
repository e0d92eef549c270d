import { z } from "zod";
import { defined } from "../lib/defined.ts";
import { ociLimits } from "../registries/limits.ts";
import type { OciImages } from "../registries/oci-images.ts";
import { image, showImage } from "../schemas/image.ts";
import { defineRoute, type Route } from "./route.ts";
import { Upload } from "./upload.ts";

const name = z.string().min(1).max(256).optional();

/** An image in one body: an OCI layout, or what `docker save` writes (IMG-03). */
export function imageArchiveRoutes(oci: OciImages): Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/api/v1/images/archive",
      tag: "images",
      summary: "Imports an image from a tar archive (OCI layout or docker save; plain, gzip or zstd)",
      scope: "administer",
      audit: "fleet",
      query: z.strictObject({
        name: name.describe("name of the image here (default: its name in the archive)"),
        image: name.describe("image to import, if the archive contains several"),
      }),
      raw: ["application/x-tar", "application/gzip", "*/*"],
      bodyBytes: ociLimits.blobBytes,
      problems: [404, 422, 504],
      responses: {
        202: { description: "the image is being imported; its log shows the progress", schema: image },
        200: { description: "the image already exists, or is being imported", schema: image },
      },
      handler: async ({ caller, query, body, openStream }) => {
        const release = openStream();
        try {
          const { record, isNew } = await oci.load(caller, new Upload(body), defined(query));
          const headers = { location: `/api/v1/images/${record.id}` };
          return { status: isNew ? 202 : 200, json: showImage(record), headers };
        } finally {
          release();
        }
      },
    }),
  ];
}
