import { execFile, execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serverRoutes } from "../../packages/server/src/http/servers.ts";
import { engines, root } from "../harness.ts";
import { brokenPackage, MemoryServers } from "../http/memory-servers.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { serverEndpoint } from "../http/server-endpoint.ts";
import { connectStdio } from "../mcp/stdio-program.ts";

const [engine = "container"] = engines;

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

describe("hosted servers on the command line", () => {
  let server: TestServer;
  let folder: string;
  let key: string;
  const hosted = new MemoryServers();
  beforeAll(async () => {
    const stats = () => ({ calls: 12, errors: 1, p50Ms: 1.4, p95Ms: 2, p99Ms: null });
    const routes = serverRoutes({ servers: hosted, stats, origin: () => server.base });
    server = await openTestServer(engine, { routes: [...routes, ...serverEndpoint("2025-11-25", [])] });
    key = (await server.keyring.issue({ name: "cli", namespace: "default", role: "admin" })).token;
    folder = await mkdtemp("/var/tmp/caisson-servers-");
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
    expect(server.errors).toEqual([]);
  });

  function caisson(args: readonly string[], more: Record<string, string> = {}, input = ""): Promise<Outcome> {
    const own = { CAISSON_URL: server.base, CAISSON_API_KEY: key, CAISSON_HOME: join(folder, "home"), HOME: folder };
    const env = { PATH: process.env.PATH, ...own, ...more };
    return new Promise((resolve) => {
      execFile(join(root, "caisson"), args, { env, cwd: folder }, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
      ).stdin?.end(input);
    });
  }
  /** Output of a command, which had to succeed. */
  const said = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await caisson(args);
    expect(`${code} ${stderr}`, args.join(" ")).toMatch(/^0 /);
    return stdout.trimEnd();
  };
  const idOf = async (name: string): Promise<string> => JSON.parse(await said("servers", "show", name)).id;

  /** Names in the archive that was uploaded for a server, as tar lists them. */
  async function uploaded(name: string): Promise<string[]> {
    const input = hosted.uploads.get(await idOf(name)) ?? Buffer.alloc(0);
    return execFileSync("tar", ["-tz"], { input }).toString().trim().split("\n").sort();
  }

  it("[CLI-01] [HOS-01] deploys a folder: prints the build on standard error, then id and endpoint", async () => {
    await mkdir(join(folder, "My Server"));
    await writeFile(join(folder, "My Server/server.py"), "print()");
    await writeFile(join(folder, "My Server/requirements.txt"), "mcp\n");
    const settings = [
      "--command",
      "python 'my server.py'",
      "--port",
      "9000",
      "--env",
      "MODE=fast",
      "--secret",
      "API_KEY",
    ];
    const limits = ["--memory", "1G", "--cpu-shares", "2048", "--storage", "10G", "--processes", "128"];
    const network = [
      "--allow-domain",
      "api.github.com",
      "--allow-domain",
      "*.example.com:8443",
      "--range",
      "10.0.0.0/24",
    ];
    const { code, stdout, stderr } = await caisson(["deploy", "My Server", ...settings, ...limits, ...network]);
    const id = await idOf("my-server");
    expect([code, stdout]).toEqual([0, `${id}\n${server.base}/sandbox/${id}/mcp\n`]);
    expect(stderr).toBe(
      "==> install\nCollecting mcp\ncaisson: version 1 runs without secrets until an operator confirms it: caisson servers confirm my-server 1\n",
    );
    expect(JSON.parse(await said("servers", "show", id)).config).toMatchObject({
      ...{ command: ["python", "my server.py"], port: 9000, env: { MODE: "fast" }, secrets: ["API_KEY"] },
      ...{ memory_mb: 1024, cpu_shares: 2048, storage_mb: 10_240, max_processes: 128 },
      network: {
        allow: [
          expect.objectContaining({ host: "api.github.com", ranges: ["10.0.0.0/24"] }),
          expect.objectContaining({ host: "*.example.com", port: 8443, ranges: ["10.0.0.0/24"] }),
        ],
      },
    });
    expect(await uploaded("my-server")).toEqual(["requirements.txt", "server.py"]);
  });

  it("[S141] uploads no keys, no history and nothing that is ignored, and says so", async () => {
    const files = {
      "server.py": "code",
      "requirements.txt": "",
      ".gitignore": "*.log\n/dist\nsub/secret.txt\n",
      ".dockerignore": "docs\n",
      ".caissonignore": "!/dist\n!.env\n!.npmrc\n",
      "debug.log": "x",
      "dist/made.js": "made",
      "docs/page.md": "x",
      "sub/secret.txt": "x",
      "sub/.gitignore": "local\n",
      "sub/local/file": "x",
      "sub/kept.py": "kept",
      ".env": "KEY=1",
      ".env.local": "KEY=1",
      "sub/.env": "KEY=1",
      ".git/config": "x",
      ".npmrc": "//registry/:_authToken=1",
      ".pypirc": "x",
      ".netrc": "x",
      ".ssh/id_ed25519": "x",
      id_rsa: "x",
      ".aws/credentials": "x",
      ".config/gcloud/token": "x",
      "node_modules/a/index.js": "x",
      "sub/__pycache__/a.pyc": "x",
      ".venv/bin/python": "x",
    };
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(folder, "full", path, ".."), { recursive: true });
      await writeFile(join(folder, "full", path), text);
    }
    // What is left out may be anything, also what cannot be sent.
    await symlink("/etc/passwd", join(folder, "full/link.log"));
    const { code, stderr } = await caisson(["deploy", "full"]);
    expect(code).toBe(0);
    expect(await uploaded("full")).toEqual([
      ...[".caissonignore", ".dockerignore", ".gitignore", "dist/made.js", "requirements.txt", "server.py"],
      ...["sub/.gitignore", "sub/kept.py"],
    ]);
    for (const name of [".env", ".env.local", ".git/", ".npmrc", "node_modules/", "sub/.env", "debug.log", "docs/"])
      expect(stderr).toContain(`caisson: not uploaded: ${name}\n`);
  });

  it("deploys the same folder as the same bytes", async () => {
    const first = hosted.uploads.get(await idOf("my-server"));
    await caisson(["deploy", "My Server"]);
    expect(hosted.uploads.get(await idOf("my-server"))).toEqual(first);
    expect(JSON.parse(await said("servers", "versions", "my-server", "--json"))).toHaveLength(2);
  });

  it("[HOS-01] deploys archives, packages and URLs, under the name that is given or follows", async () => {
    await writeFile(join(folder, "thing.tar.gz"), "bytes");
    await said("deploy", "thing.tar.gz");
    expect(hosted.uploads.get(await idOf("thing"))?.toString()).toBe("bytes");
    await said("deploy", "npm:@scope/package@1.2.3", "--name", "scoped", "--rebuild");
    expect(hosted.requests.at(-1)).toMatchObject({
      source: { kind: "npm", package: "@scope/package", version: "1.2.3" },
      rebuild: true,
    });
    await said("deploy", "pypi:mcp-server-time", "--name", "time");
    expect(hosted.requests.at(-1)?.source).toEqual({ kind: "pypi", package: "mcp-server-time", version: "" });
    await said("deploy", "https://example.com/mcp", "--name", "far");
    expect(hosted.requests.at(-1)?.source).toEqual({ kind: "remote", url: "https://example.com/mcp" });
    const { server: shown, version } = JSON.parse(await said("deploy", "npm:echo@1.0.0", "--json"));
    expect([shown.name, version.number, version.resolved.length]).toEqual(["echo", 1, 1]);
  });

  it("[CLI-03] says what is wrong with a source, a build or an option", async () => {
    const outcome = async (...args: string[]) => {
      const { code, stdout, stderr } = await caisson(args);
      return [code, stdout, stderr];
    };
    expect(await outcome("deploy", "nowhere")).toEqual([
      ...[2, ""],
      "caisson: cannot read 'nowhere' (ENOENT)\n  hint: the source is a folder, a .tar.gz, npm:NAME@VERSION or pypi:NAME@VERSION\n",
    ]);
    expect(await outcome("deploy", "npm:@1")).toMatchObject([2, "", expect.stringContaining("npm:NAME@VERSION")]);
    expect(await outcome("deploy", `npm:${brokenPackage}@1`)).toEqual([
      ...[1, ""],
      "==> install\nCollecting mcp\ncaisson: cannot deploy broken: install: no such package: \\u{1b}[31mbroken\n",
    ]);
    expect(await outcome("deploy", "thing.tar.gz", "--memory", "64M")).toMatchObject([2, "", /memory_mb.*256 MB/s]);
    expect(await outcome("deploy", "thing.tar.gz", "--range", "10.0.0.0/8")).toMatchObject([2, "", /--allow-domain/]);
    expect(await outcome("deploy", "thing.tar.gz", "--command", "a | b")).toMatchObject([2, "", /no shell runs/]);
    const alone = await caisson(["deploy", "thing.tar.gz"], { CAISSON_URL: "" });
    expect([alone.code, alone.stderr]).toEqual([125, expect.stringContaining("caisson up --detach")]);
  });

  it("[CLI-01] lists, stops, restarts, changes and removes servers", async () => {
    await said("deploy", "npm:echo@1.0.0", "--name", "all");
    expect(await said("servers", "ls")).toMatch(/all +[0-9a-f]{16} +stopped +1 +12 +1 +1 ms +2 ms +- +0 MB/);
    expect(await said("servers", "restart", "all")).toBe("all: running");
    expect(await said("servers", "stop", "all")).toBe("all: stopped");
    expect(await said("servers", "set", "all", "--env", "A=1")).toBe("all: changed, restarted");
    expect(await said("servers", "set", "all", "--memory", "2G", "--idle", "60")).toBe("all: changed");
    await said(
      "servers",
      "set",
      "all",
      "--command",
      "python other.py",
      "--secret",
      "KEY",
      "--allow-domain",
      "example.com",
    );
    const clear = ["command", "env", "secret", "allow-domain"].flatMap((name) => ["--clear", name]);
    await said("servers", "set", "all", ...clear);
    const { config } = JSON.parse(await said("servers", "show", "all", "--json"));
    expect(config).toMatchObject({ command: null, env: {}, secrets: [], network: {} });
    expect((await caisson(["servers", "set", "all"])).code).toBe(2);
    expect((await caisson(["servers", "set", "all", "--clear", "port"])).stderr).toContain("cannot clear");
    expect((await caisson(["servers", "set", "all", "--clear", "env", "--env", "A=1"])).stderr).toContain("exclude");
    await said("servers", "rm", "all");
    expect((await caisson(["servers", "show", "all"])).stderr).toContain("unknown server");
  });

  it("[CLI-01] shows output, versions and differences, rolls back and confirms", async () => {
    await said("deploy", "npm:echo@1.0.0", "--name", "old");
    await said("deploy", "npm:echo@2.0.0", "--name", "old");
    expect(await said("servers", "logs", "old")).toBe("first line\nsecond \\u{1b}[2Jline");
    expect(await said("servers", "versions", "old")).toMatch(
      /\n2 +ready +npm:echo@2\.0\.0 .*\n1 +ready +npm:echo@1\.0\.0 /,
    );
    expect(await said("servers", "diff", "old", "1", "2")).toMatch(/\nsource +digest-1 +digest-2$/);
    expect(await said("servers", "rollback", "old", "1")).toBe("version 1: ready");
    expect(await said("servers", "ls")).toMatch(/old .* 1 \(newest: 2\) /);
    expect(await said("servers", "confirm", "old", "1")).toBe("version 1: confirmed");
  });

  it("[CLI-01] lists and calls tools through the endpoint", async () => {
    await said("deploy", "npm:echo@1.0.0", "--name", "tools");
    expect(await said("servers", "tools", "tools")).toMatch(/^NAME +DESCRIPTION\n(.*\n)*test_simple_text /);
    expect(await said("servers", "call", "tools", "test_simple_text")).toBe(
      "This is a simple text response for testing.",
    );
    expect(await caisson(["servers", "call", "tools", "test_error_handling"])).toMatchObject({ code: 1, stdout: "" });
    expect(JSON.parse(await said("servers", "call", "--json", "tools", "test_simple_text")).content).toHaveLength(1);
  });

  it("[MCP-09] connects a client that can only start commands: caisson mcp --server", async () => {
    const variables = { CAISSON_URL: server.base, CAISSON_API_KEY: key, CAISSON_HOME: join(folder, "home") };
    const args = ["mcp", "--server", "tools"];
    const { client, transport } = await connectStdio(variables, "2025-11-25", { args });
    await client.connect(transport);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("test_simple_text");
    await client.close();
    expect((await caisson(["mcp", "--server", "tools", "--tools", "all"])).code).toBe(2);
    expect(await caisson(["mcp", "--server", "nowhere"])).toMatchObject({
      stderr: "caisson: unknown server 'nowhere'\n",
    });
  });

  it("[HOS-09] prints how each client connects, in the seed's form for other clients", async () => {
    const id = await idOf("tools");
    const url = `${server.base}/sandbox/${id}/mcp`;
    const headers = { "X-API-Key": "KEY" };
    const shown = async (client: string) =>
      JSON.parse(await said("servers", "connect", "tools", "--client", client, "--key", "KEY"));
    expect(await shown("generic")).toEqual({ mcpServers: { tools: { url, transport: "http", headers } } });
    expect(await shown("claude-code")).toEqual({ mcpServers: { tools: { type: "http", url, headers } } });
    expect(await shown("cursor")).toEqual({ mcpServers: { tools: { url, headers } } });
    expect(await shown("vscode")).toEqual({ servers: { tools: { type: "http", url, headers } } });
    expect(await shown("claude-desktop")).toEqual({
      mcpServers: {
        tools: {
          command: join(root, "caisson"),
          args: ["mcp", "--server", id],
          env: { CAISSON_URL: server.base, CAISSON_API_KEY: "KEY" },
        },
      },
    });
    const all = await caisson(["servers", "connect", "tools"]);
    expect(all.stdout).toContain(`claude mcp add --transport http tools ${url} --header 'X-API-Key: YOUR_API_KEY'`);
    expect(all.stderr).toContain(`caisson keys create NAME --scope server:${id}`);
    expect((await caisson(["servers", "connect", "tools", "--client", "other"])).code).toBe(2);
    expect((await caisson(["servers", "connect", "tools", "--client", "generic", "--write"])).code).toBe(2);
  });

  it("[HOS-09] writes a client's configuration, with a key for that server alone", async () => {
    await writeFile(join(folder, ".claude.json"), JSON.stringify({ theme: "dark", mcpServers: { other: {} } }), {
      mode: 0o600,
    });
    const { code, stderr } = await caisson(["servers", "connect", "tools", "--client", "claude-code", "--write"]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("reaches only this server")]);
    const { theme, mcpServers } = JSON.parse(await readFile(join(folder, ".claude.json"), "utf8"));
    expect([theme, Object.keys(mcpServers)]).toEqual(["dark", ["other", "tools"]]);
    expect((await stat(join(folder, ".claude.json"))).mode & 0o777).toBe(0o600);
    const written = server.anonymous.with({ "x-api-key": mcpServers.tools.headers["X-API-Key"] });
    expect((await written.get("/api/v1/servers")).status).toBe(403);
    const keys = JSON.parse(await said("keys", "list", "--json"));
    const scopes = [`server:${await idOf("tools")}`];
    expect(keys).toContainEqual(expect.objectContaining({ name: "tools in claude-code", role: "agent", scopes }));
  });

  it("[CLI-01] makes keys with scopes", async () => {
    const scope = `server:${await idOf("tools")}:test_simple_text`;
    const made = await said("keys", "create", "one tool", "--scope", "read", "--scope", scope);
    const as = { CAISSON_API_KEY: made };
    expect((await caisson(["servers", "ls"], as)).code).toBe(0);
    expect(await caisson(["servers", "stop", "tools"], as)).toMatchObject({
      code: 125,
      stderr: expect.stringContaining("this key does not have the scope use"),
    });
    expect(await said("keys", "list")).toMatch(new RegExp(`agent +read,${scope} +default`));
    expect((await caisson(["keys", "create", "bad", "--scope", "everything"])).stderr).toContain("unknown scope");
  });
});
