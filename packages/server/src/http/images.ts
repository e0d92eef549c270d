import { z } from "zod";
import type { ImageBuilds } from "../images/image-builds.ts";
import type { Images } from "../images/images.ts";
import { defined } from "../lib/defined.ts";
import type { OciImages } from "../registries/oci-images.ts";
import { catalogueEntry, image, imageId, importBody, showEntry, showImage } from "../schemas/image.ts";
import { streamed, streamFormat } from "./live-stream.ts";
import { defineRoute, type Route } from "./route.ts";
import { anyOf, message } from "./stream-messages.ts";

const path = "/api/v1/images";
const one = `${path}/{image}`;
const tag = "images";

const { state, step, error } = image.shape;
const log = anyOf("ImageLogMessage", [
  message("StepMessage", "step", { step: z.string(), at: z.number(), of: z.number() }),
  message("LogMessage", "log", { data: z.string() }),
  message("EndMessage", "end", { state, step, error }),
]);

interface ImageRouteParts {
  images: Images;
  imageBuilds: ImageBuilds;
  oci: OciImages;
}

/** Read-only roots that sandboxes start from: made here, by one call each (IMG-02). */
export function imageRoutes({ images, imageBuilds: builds, oci }: ImageRouteParts): Route[] {
  return [
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists images, newest first",
      scope: "read",
      audit: null,
      responses: {
        200: { description: "all images, except `host`, the machine's own root", schema: z.array(image) },
      },
      handler: async () => ({ status: 200, json: images.list().map(showImage) }),
    }),
    defineRoute({
      method: "GET",
      path: `${path}/catalogue`,
      tag,
      summary: "Lists the images that can be imported by name",
      scope: "read",
      audit: null,
      responses: { 200: { description: "the catalogue", schema: z.array(catalogueEntry) } },
      handler: async () => {
        const ready = new Set(images.list().flatMap(({ name, state }) => (state === "ready" ? [name] : [])));
        return { status: 200, json: images.catalogue.map((entry) => showEntry(entry, ready.has(entry.spec.name))) };
      },
    }),
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Imports an image from the catalogue, a specification or a registry",
      scope: "administer",
      audit: "fleet",
      body: importBody,
      problems: [404, 422, 504],
      responses: {
        202: { description: "the image is being imported; its log shows the progress", schema: image },
        200: { description: "the image already exists, or is being imported", schema: image },
      },
      handler: async ({ caller, body }) => {
        const { catalogue, spec, reference, name, credentials } = body;
        const { record, isNew } = await (reference !== undefined
          ? oci.pull(caller, { reference, ...defined({ name, credentials }) })
          : spec !== undefined
            ? builds.importSpec(caller, spec)
            : builds.importFromCatalogue(caller, catalogue ?? ""));
        return { status: isNew ? 202 : 200, json: showImage(record), headers: { location: `${path}/${record.id}` } };
      },
    }),
    defineRoute({
      method: "GET",
      path: one,
      tag,
      summary: "Returns an image",
      scope: "read",
      audit: null,
      params: imageId,
      responses: { 200: { description: "the image", schema: image } },
      handler: async ({ params }) => ({ status: 200, json: showImage(images.get(params.image)) }),
    }),
    defineRoute({
      method: "GET",
      path: `${one}/log`,
      tag,
      summary: "Streams the build log of an image from its beginning, until the build ends",
      scope: "read",
      audit: null,
      params: imageId,
      responses: {
        200: {
          description: "messages `step` (with its number and the total), `log`, and `end` as the last",
          messages: log,
        },
      },
      handler: (call) =>
        streamed(call, streamFormat(call.request.headers.accept) ?? "sse", async (begin) => {
          images.get(call.params.image);
          const live = begin();
          for await (const { type, ...data } of builds.log(call.params.image, live.gone)) await live.send(type, data);
        }),
    }),
    defineRoute({
      method: "DELETE",
      path: one,
      tag,
      summary: "Deletes an image, or cancels its build; refused while a sandbox uses it",
      scope: "administer",
      audit: "fleet",
      params: imageId,
      responses: { 204: { description: "the image is deleted" } },
      handler: async ({ caller, params }) => {
        await builds.delete(caller, params.image);
        return { status: 204 };
      },
    }),
  ];
}
