import { execFile } from "node:child_process";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { spoolArchive } from "../../packages/server/src/servers/sources/spool-archive.ts";
import { ordinary, soak } from "../harness.ts";
import { reachableRegistries, whyLeftOut } from "../packages/can-get.ts";
import { openServerBuilds, type TestBuilds } from "./build-fixture.ts";

const { pip: pipWorks, npm: npmWorks } = ordinary ? { pip: false, npm: false } : await reachableRegistries();
const hasBoth = pipWorks && npmWorks;

const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
/** As the tutorial has them. */
const server = `from mcp.server.fastmcp import FastMCP
import uvicorn

mcp = FastMCP("my-server")

@mcp.tool()
async def get_data(query: str) -> str:
    """Fetch data for the given query."""
    return f"Result for: {query}"

if __name__ == "__main__":
    uvicorn.run(mcp.streamable_http_app(), host="0.0.0.0", port=8000)
`;
const requirements = "mcp[cli]>=1.0.0,<2.0.0\nhttpx>=0.27.0,<1.0.0\nuvicorn>=0.29.0,<1.0.0\n";

describe.skipIf(!hasBoth || !soak)(
  `builds of servers, from this machine's registries${hasBoth ? "" : whyLeftOut}`,
  () => {
    let builds: TestBuilds;
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp("/var/tmp/caisson-test-");
      builds = await openServerBuilds();
    }, 300_000);
    afterAll(async () => {
      await builds?.[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    });

    it("[HOS-01] [HOS-02] take a server.py with requirements.txt, and share the image's files", async () => {
      await writeFile(join(folder, "server.py"), server);
      await writeFile(join(folder, "requirements.txt"), requirements);
      const words = ["-czf", "my-mcp-server.tar.gz", "server.py", "requirements.txt"];
      await promisify(execFile)("tar", words, { cwd: folder });
      const sent = createReadStream(join(folder, "my-mcp-server.tar.gz"));
      const { path } = await spoolArchive(join(folder, "spooled"), sent);
      const built = await builds.build({ archive: path });
      expect(built.command).toEqual(["python", "server.py"]);
      expect(built.steps).toEqual(["prepare", "unpack", "detect", "pip", "compile", "entry", "clean", "freeze"]);
      const line =
        "cd /app && python -c 'import mcp, uvicorn, httpx, server; print(server.mcp.name)'; readlink /data; uvicorn --version | cut -c1-7; touch /app/x";
      for (const engine of ["container", "gvisor"] as const) {
        const { stdout, stderr } = await builds.run(built.layerId, engine, line);
        expect([stdout, stderr]).toEqual([
          "my-server\n/workspace\nRunning\n",
          expect.stringMatching(/Read-only|Permission/),
        ]);
      }
      const { below } = (await builds.service.layers.list()).find(({ id }) => id === built.layerId) ?? {};
      expect(below).toEqual([builds.image.layerId]);
      expect(built.bytes).toBeLessThan(100 * 1024 ** 2);
      const mcp = built.packages.find(({ name }) => name === "mcp");
      expect(mcp).toEqual({
        manager: "pip",
        name: "mcp",
        version: expect.stringMatching(/^1\./),
        sha256,
        claimed: false,
      });
      expect(built.packages.filter(({ claimed }) => claimed)).toEqual([]);
      expect(built.log).toContain("Successfully installed");
    }, 180_000);

    it("[HOS-01] take a package of npm, at an exact version", async () => {
      const name = "@modelcontextprotocol/server-everything";
      const built = await builds.build({ source: { kind: "npm", package: name, version: "2026.8.31" } });
      expect(built.packages).toContainEqual({ manager: "npm", name, version: "2026.8.31", sha256, claimed: false });
      const { stdout } = await builds.run(
        built.layerId,
        "container",
        `ls -L ${built.command[0]}; head -c 30 ${built.command[0]}`,
      );
      expect(stdout).toContain("#!/usr/bin/env node");
    }, 180_000);

    it("[HOS-01] take a package of PyPI at its newest version, which they name, on gvisor too", async () => {
      const source = { kind: "pypi", package: "mcp-server-time", version: "" } as const;
      const built = await builds.build({ source }, {}, { engine: "gvisor" });
      const [own] = built.packages.filter(({ name }) => name === "mcp-server-time");
      expect(own).toMatchObject({ manager: "pip", sha256, claimed: false });
      expect(built.source).toEqual({ kind: "pypi", package: "mcp-server-time", version: own?.version });
      expect(built.command).toEqual(["mcp-server-time"]);
      const { stdout, stderr } = await builds.run(built.layerId, "container", `${built.command[0]} --help`);
      expect(stdout + stderr).toContain("usage: mcp-server-time");
    }, 180_000);
  },
);
