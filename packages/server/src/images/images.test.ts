import { expect, it } from "vitest";
import { type ImageRecord, plainConfig } from "../core/image-record.ts";
import { Images, type ImagesParts } from "./images.ts";

const alias = "registry.example/python:3.12";
const spec = { name: "tools", description: "", aliases: [alias], pip: [], npm: [], files: {}, env: {}, run: [] };
const old: ImageRecord = {
  ...{ id: "old", name: "tools", aliases: [alias], description: "", source: "catalogue", digest: "sha256:of-before" },
  ...{ layerId: "layer", config: plainConfig, bytes: 1, state: "ready", step: null, error: null },
  ...{ createdAtMs: 0, createdBy: "k" },
};

it("[IMG-02] an image that was made of an older catalogue keeps its name, and loses the names that promise more", async () => {
  const openWith = (record: ImageRecord) =>
    Images.open({
      catalogue: [{ spec: { ...spec, debian: ["python3>=3.12"] }, text: "" }],
      records: { list: async () => [record] },
    } as unknown as ImagesParts);
  const images = await openWith(old);
  expect(images.choose("tools")).toEqual({ name: "tools", layerId: "layer" });
  expect(() => images.choose(alias)).toThrow("unknown image");
  const own = await openWith({ ...old, source: "spec" });
  expect(own.choose(alias)).toEqual({ name: "tools", layerId: "layer" });
});
