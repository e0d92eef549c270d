import { admin, openImages } from "./fixture.ts";

/** A daemon in a process of its own that makes an image, and says each step, until somebody kills it. */
const [home = "", registries = "", spec = ""] = process.argv.slice(2);
const { imageBuilds } = await openImages(home, JSON.parse(registries));
const { record } = await imageBuilds.importSpec(admin, spec);
for await (const message of imageBuilds.log(record.id, new AbortController().signal))
  if (message.type === "step") console.log(message.step);
