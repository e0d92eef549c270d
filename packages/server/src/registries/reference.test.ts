import { describe, expect, it } from "vitest";
import { parseReference } from "./reference.ts";

const digest = `sha256:${"a".repeat(64)}`;

describe("a reference", () => {
  it.each([
    ["debian", "registry-1.docker.io", "library/debian", "latest", null],
    ["debian:12", "registry-1.docker.io", "library/debian", "12", null],
    ["owner/name", "registry-1.docker.io", "owner/name", "latest", null],
    ["docker.io/debian:12", "registry-1.docker.io", "library/debian", "12", null],
    ["ghcr.io/a/b/c:v1.2-3", "ghcr.io", "a/b/c", "v1.2-3", null],
    ["localhost/x", "localhost", "x", "latest", null],
    ["127.0.0.1:5000/x:y", "127.0.0.1:5000", "x", "y", null],
    ["[::1]:5000/x", "[::1]:5000", "x", "latest", null],
    [`ghcr.io/a/b@${digest}`, "ghcr.io", "a/b", null, digest],
    [`ghcr.io/a/b:1@${digest}`, "ghcr.io", "a/b", "1", digest],
  ])("%s names an image", (text, registry, repository, tag, found) => {
    expect(parseReference(text)).toEqual({ registry, repository, tag, digest: found });
  });

  it.each([
    "",
    ":",
    "/",
    "Debian",
    "a b",
    "../etc",
    "ghcr.io/../x",
    "ghcr.io//x",
    "ghcr.io/x:",
    "ghcr.io/x:-",
    "x@sha256:12",
    `x@${digest}@${digest}`,
    "user:pw@ghcr.io/x",
    "ghcr.io/x?y",
    "ghcr.io/x#y",
    "-.x/y",
    "http://ghcr.io/x",
    `${"a/".repeat(300)}b`,
  ])("%j names none", (text) => {
    expect(() => parseReference(text)).toThrow("is not an image reference");
  });
});
