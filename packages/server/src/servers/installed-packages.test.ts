import { describe, expect, it } from "vitest";
import { deliveredPackage, resolvedPackages } from "./installed-packages.ts";

const sha256 = "ab".repeat(32);

describe("packages that a registry delivered", () => {
  it.each([
    ["pip", "https://files.example/packages/aa/bb/mcp-1.30.0-py3-none-any.whl", "mcp", "1.30.0"],
    [
      "pip",
      "https://files.example/p/typing_extensions-4.1.0-1-cp313-cp313-manylinux_2_17_x86_64.whl",
      "typing-extensions",
      "4.1.0",
    ],
    ["pip", "https://files.example/p/Some.Name-2.0rc1.tar.gz", "some-name", "2.0rc1"],
    ["pip", "https://files.example/p/a-b-1.0.zip", "a-b", "1.0"],
    ["npm", "https://registry.example/zod/-/zod-3.25.0.tgz", "zod", "3.25.0"],
    ["npm", "https://registry.example/@scope%2fname/-/name-1.0.0-beta.2.tgz", "@scope/name", "1.0.0-beta.2"],
    ["npm", "https://mirror.example/npm/@scope/name/-/name-1.0.0.tgz", "@scope/name", "1.0.0"],
  ] as const)("are named by their address: %s %s", (manager, url, name, version) => {
    expect(deliveredPackage(manager, { url, sha256 })).toEqual({ manager, name, version, sha256, claimed: false });
  });

  it.each([
    "https://x.example/simple/mcp/",
    "https://x.example/a.whl",
    "https://x.example/%",
    "no address",
    "https://x.example/zod",
  ])("are none at another address: %s", (url) => {
    for (const manager of ["pip", "npm"] as const) expect(deliveredPackage(manager, { url, sha256 })).toBeUndefined();
  });

  it("[S115] count before what the sandbox reports of the same packages, and other reports are marked", () => {
    const delivered = { manager: "pip", name: "mcp", version: "1.0", sha256, claimed: false } as const;
    const forged = { manager: "pip", name: "MCP", version: "1.0", hash: "sha256:forged" } as const;
    const other = { manager: "pip", name: "innocent", version: "2.0", hash: "sha256:00" } as const;
    expect(resolvedPackages([delivered, delivered], [forged, other])).toEqual([
      { manager: "pip", name: "innocent", version: "2.0", sha256: "00", claimed: true },
      delivered,
    ]);
  });
});
