import { describe, expect, it } from "vitest";
import { checkPackageSource, packageDigest, packageWord, resolved } from "./package-source.ts";

const npm = (name: string, version = "") => ({ kind: "npm", package: name, version }) as const;
const pypi = (name: string, version = "") => ({ kind: "pypi", package: name, version }) as const;

describe("a package as the source of a server", () => {
  it.each([
    [npm("@modelcontextprotocol/server-everything", "2026.8.31"), "@modelcontextprotocol/server-everything@2026.8.31"],
    [npm("mcp-proxy", "1.0.0-beta.1"), "mcp-proxy@1.0.0-beta.1"],
    [npm("mcp-proxy"), "mcp-proxy"],
    [pypi("mcp-server-time", "2026.10.19"), "mcp-server-time==2026.10.19"],
    [pypi("Some.Name", "1.0rc1+local"), "Some.Name==1.0rc1+local"],
  ])("[HOS-01] is a name with an exact version or none: %j", (source, word) => {
    expect(() => checkPackageSource(source)).not.toThrow();
    expect(packageWord(source)).toBe(word);
  });

  it.each([
    ...["", ".hidden/x", "../x", "a/b", "@a", "@a/b/c", "--global", "a b", "file:x", "https://x/y", "Upper"].map(
      (one) => npm(one),
    ),
    ...["", "-r", "../x", "a b", "a;b", "a[extra]", "a @ https://x", "x".repeat(300)].map((one) => pypi(one)),
    ...["^1.0.0", "latest", "1", "1.x", "1.0.0 || 2.0.0", "file:x"].map((version) => npm("a", version)),
    ...[">=1", "1.*", "==1", "1;x", "latest", " 1"].map((version) => pypi("a", version)),
  ])("[HOS-01] is refused as anything else: %j", (source) => {
    expect(() => checkPackageSource(source)).toThrow(/^invalid (package name|version)/);
  });

  it("is recorded at the version that was installed", () => {
    expect(resolved(npm("a"), "1.2.3")).toEqual(npm("a", "1.2.3"));
    for (const version of [undefined, "", 7, "1.0.0; rm", "../x"]) expect(() => resolved(npm("a"), version)).toThrow();
  });

  it("has a digest of its registry, name and version", () => {
    const digests = [npm("a", "1.0.0"), npm("a", "1.0.1"), npm("b", "1.0.0"), pypi("a", "1.0.0"), npm("a")].map(
      packageDigest,
    );
    expect(new Set(digests).size).toBe(5);
    expect(packageDigest(npm("a", "1.0.0"))).toBe(digests[0]);
  });
});
