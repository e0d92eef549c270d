import { describe, expect, it } from "vitest";
import { findPullable, readPullPlace } from "./pull-places.ts";

const places = ["docker.io/library/python", "GHCR.io/owner", "registry.example:5000", "[::1]:5000"].map(readPullPlace);

describe("what a sandbox may have pulled", () => {
  it.each([
    ["python:3.12-slim", "docker.io/library/python"],
    ["docker.io/python:3.12", "docker.io/library/python"],
    [`python@sha256:${"a".repeat(64)}`, "docker.io/library/python"],
    ["ghcr.io/owner/a/b:1", "ghcr.io/owner/a/b"],
    ["registry.example:5000/any/thing", "registry.example:5000/any/thing"],
    ["[::1]:5000/x:1", "[::1]:5000/x"],
  ])("[S97] %s is of a place that is named", (image, place) => {
    expect(findPullable(image, places)).toMatchObject({ place, isAllowed: true });
  });

  it.each([
    ["ubuntu:22.04", "docker.io/library/ubuntu"],
    ["evil/python:3", "docker.io/evil/python"],
    ["pythonx:3", "docker.io/library/pythonx"],
    ["ghcr.io/owners/x:1", "ghcr.io/owners/x"],
    ["ghcr.io.example/owner/x:1", "ghcr.io.example/owner/x"],
    ["registry.example/any:1", "registry.example/any"],
    ["registry.example:50001/any:1", "registry.example:50001/any"],
  ])("[S97] %s is of none", (image, place) => {
    expect(findPullable(image, places)).toMatchObject({ place, isAllowed: false });
  });

  it("takes docker.io for all that has no registry in its name", () => {
    expect(findPullable("node:20-slim", [readPullPlace("docker.io")])).toMatchObject({ isAllowed: true });
  });

  it("knows one reference by all of its names", () => {
    const referenceOf = (image: string) => findPullable(image, places)?.reference;
    for (const name of ["python:3.12", "library/python:3.12", "docker.io/python:3.12", "docker.io/library/python:3.12"])
      expect(referenceOf(name)).toBe("docker.io/library/python:3.12");
    expect(referenceOf("library/python")).toBe("docker.io/library/python:latest");
    const digest = `sha256:${"a".repeat(64)}`;
    expect(referenceOf(`python:1@${digest}`)).toBe(`docker.io/library/python@${digest}`);
  });

  it.each(["python", "host", "", "Python:3", "a b:1", "python:3@sha256:12", "../x:1", "http://ghcr.io/owner/x"])(
    "%j names no image of a registry",
    (image) => {
      expect(findPullable(image, places)).toBeUndefined();
    },
  );

  it.each(["python", "https://docker.io", "docker.io/x y", "docker.io/", ""])("%j is no place", (text) => {
    expect(() => readPullPlace(text)).toThrow("images.pull");
  });
});
