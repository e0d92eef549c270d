import { expect, it } from "vitest";
import { createTemplate } from "./template.ts";

const takes = (path: string) => createTemplate.safeParse({ name: "one", files: [{ path, text: "" }] }).success;

it("takes files of /workspace alone: a template keeps no others", () => {
  expect(["a", "a/b", "/workspace/a", "tmp/a"].filter((path) => !takes(path))).toEqual([]);
  expect(["/tmp/a", "/home/user/a", "/a", "", "/workspacex/a"].filter(takes)).toEqual([]);
});
