import { describe, expect, it } from "vitest";
import { chooseImage, findImage } from "./choose-image.ts";
import { type ImageRecord, plainConfig } from "./image-record.ts";
import type { CatalogueEntry } from "./image-spec.ts";

function image(id: string, more: Partial<ImageRecord> = {}): ImageRecord {
  return {
    ...{ id, name: "py", aliases: ["registry.example/python:3"], description: "", source: "catalogue", digest: id },
    ...{ layerId: `layer-${id}`, config: plainConfig, bytes: 1, state: "ready", step: null, error: null },
    ...{ createdAtMs: 1, createdBy: "key", ...more },
  };
}
const failed = image("c", { state: "failed", layerId: null });
const building = image("d", { name: "new", aliases: [], state: "building", layerId: null });
const records = [building, failed, image("b"), image("a")];
const spec = { description: "", aliases: ["box:1"], debian: [], pip: [], npm: [], files: {}, env: {}, run: [] };
const catalogue: CatalogueEntry[] = [{ spec: { ...spec, name: "tools" }, text: "" }];
const refusal = (name: string) => {
  try {
    return chooseImage(records, name, catalogue);
  } catch (error) {
    return error;
  }
};

describe("the image of a new sandbox", () => {
  it("is the newest that is ready, by its name, an alias or its id", () => {
    const newest = { name: "py", layerId: "layer-b" };
    expect(chooseImage(records, "py", catalogue)).toEqual(newest);
    expect(chooseImage(records, "registry.example/python:3", catalogue)).toEqual(newest);
    expect(chooseImage(records, "a", catalogue)).toEqual({ name: "py", layerId: "layer-a" });
  });

  it("is the machine's own root for `host`, whatever there is", () => {
    expect(chooseImage([], "host", [])).toEqual({ name: "host", layerId: null });
  });

  it("is refused with the list of what there is", () => {
    expect(refusal("nothing")).toMatchObject({ code: "not_found", details: { images: ["host", "py"] } });
    expect(refusal("nothing")).toMatchObject({ hint: "images: host, py" });
  });

  it("is refused with the command that brings it, where the catalogue has it", () => {
    expect(refusal("tools")).toMatchObject({ code: "not_found", hint: "caisson image import tools" });
    expect(refusal("box:1")).toMatchObject({ code: "not_found", hint: "caisson image import tools" });
  });

  it("is refused while it is made, and when it failed", () => {
    expect(refusal("new")).toMatchObject({ code: "conflict", hint: "caisson image log new follows the build" });
    expect(refusal("c")).toMatchObject({ code: "not_found" });
  });
});

describe("an image by name", () => {
  it("is the one that is ready, else the one under way, else the one that failed", () => {
    expect(findImage(records, "py", catalogue).id).toBe("b");
    expect(findImage(records, "new", catalogue).id).toBe("d");
    expect(findImage([failed], "py", catalogue).id).toBe("c");
    expect(findImage(records, "c", catalogue).id).toBe("c");
    expect(() => findImage(records, "nothing", catalogue)).toThrow("unknown image");
    expect(() => findImage(records, "host", catalogue)).toThrow("the machine's own root");
  });
});
