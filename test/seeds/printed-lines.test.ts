import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSandbox } from "../../packages/server/src/index.ts";
import { feedTypes } from "../../packages/server/src/journal/event-row.ts";
import { caisson, type Outcome, Up, upTimeoutMs } from "../daemon/up.ts";
import { ordinary, root } from "../harness.ts";
import { connectStdio } from "../mcp/stdio-program.ts";
import {
  commandLines,
  eventTypes,
  factoryYaml,
  promises,
  prompts,
  resources,
  tools,
  variables,
  waiting,
} from "./lines.ts";

/** The words of a command line, without quotes. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? "",
  );
}

let folder: string;
let up: Up;
let open: string;
const sha256 = createHash("sha256").update("a,b\n").digest("hex");

/** A command beside the files that the documents name. */
function run(words: readonly string[], more: Record<string, string> = {}): Promise<Outcome> {
  const there = words.map((word) => (files.has(word) ? join(folder, word) : word));
  return caisson(there, { ...up.variables, ...more });
}

const database = "sandboxmcp.db";
const files = new Map([
  ["script.py", 'print("hello sandbox")\n'],
  ["app.js", "console.log(2 + 2)\n"],
  ["deploy.sh", "echo deployed\n"],
  ["output.csv", "a,b\n"],
]);

describe.skipIf(ordinary)("the lines that the seeds print", { timeout: upTimeoutMs }, () => {
  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-seeds-");
    open = join(folder, "open");
    for (const [path, mode] of [
      [folder, 0o755],
      [open, 0o777],
    ] as const) {
      await mkdir(path, { recursive: true });
      await chmod(path, mode); // the host's process is another user
    }
    for (const [name, text] of files) await writeFile(join(folder, name), text);
    await writeFile(join(open, "data.csv"), "a,b\n");
    const config = join(folder, "caisson.yaml");
    await writeFile(
      config,
      `host:\n  enabled: true\n  allow: ["echo *"]\n  ask: ["docker restart *"]\n  read: [/etc]\n  write: [${open}]\n`,
    );
    up = await Up.start({
      variables: { CAISSON_CONFIG: config, CAISSON_ENGINE: "container", CAISSON_SQLITE_PATH: database },
    });
    for (const name of ["default", "to-kill"]) {
      const made = await run(["tool", "create_session", `session_id=${name}`]);
      expect(`${made.code} ${made.stderr}`).toBe("0 ");
    }
    const other = await run(["tool", "--namespace", "prod", "create_session", "session_id=default"]);
    expect(`${other.code} ${other.stderr}`).toBe("0 ");
  }, upTimeoutMs);
  afterAll(async () => {
    await up?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  }, upTimeoutMs);

  it.each(commandLines)("[CLI-01] S2: $printed", async ({ printed, as: [from, to] = ["", ""], prints, code = 0 }) => {
    const given = to.replace("<open>", open).replace("<sha256>", sha256);
    const [, ...words] = wordsOf(printed.replace(from, given));
    const outcome = await run(words);
    expect(`${outcome.code}`, outcome.stderr).toBe(`${code}`);
    expect(outcome.stdout + outcome.stderr).toMatch(prints ?? /^/);
  });

  it("[API-07] S2: every environment variable, as the setting that it is", async () => {
    const home = join(folder, "configured");
    await mkdir(home);
    for (const [variable, value, key, holds] of variables) {
      const { stdout, stderr } = await caisson(["config"], { CAISSON_HOME: home, [variable]: value });
      const line = new RegExp(`^${key} +(.*?) +${variable}$`, "m").exec(stdout)?.[1];
      expect(line, `${variable}=${value}: ${stderr}`).toBe(holds);
    }
  });

  it("[API-07] S2: the database has the name that is configured, in the data folder", async () => {
    const names = (await readdir(join(up.home, "daemon"))).filter((name) => name.endsWith(".db"));
    expect(names).toEqual([database]);
    const { code, stdout } = await run(["audit", "verify"]);
    expect(`${code} ${stdout}`).toMatch(/^0 the audit log is whole\n/);
  });

  it("[API-07] S2: the configuration of the factory, as YAML and for `serve --config`", async () => {
    const config = join(folder, "sandbox_config.yaml");
    await writeFile(config, factoryYaml);
    const home = join(folder, "configured");
    const { code, stdout, stderr } = await caisson(["config", "--config", config], { CAISSON_HOME: home });
    expect(`${code} ${stderr}`).toBe("0 ");
    expect(stdout).toMatch(/^engine +container /m);
    expect(stdout).toMatch(/^max_processes +10 /m);
  });

  describe("over MCP, from caisson serve", () => {
    let client: Client;
    beforeAll(async () => {
      const connection = await connectStdio(up.variables, "2025-11-25", { args: ["serve"] });
      client = connection.client;
      await client.connect(connection.transport);
    }, upTimeoutMs);
    afterAll(() => client?.close());

    it("[MCP-02] [MCP-03] S2, S3: all 31 tools, with the parameters printed", async () => {
      const offered = new Map((await client.listTools()).tools.map((tool) => [tool.name, tool]));
      expect(Object.keys(tools).filter((name) => !offered.has(name))).toEqual([]);
      for (const [name, parameters] of Object.entries(tools))
        expect(Object.keys(offered.get(name)?.inputSchema.properties ?? {}), name).toEqual(
          expect.arrayContaining([...parameters]),
        );
    });

    it("[MCP-04] [MCP-05] S3: the resources and prompts", async () => {
      const listed = (await client.listResources()).resources.map(({ uri }) => uri);
      expect(listed).toEqual(expect.arrayContaining([...resources]));
      const { prompts: offered } = await client.listPrompts();
      expect(offered.map(({ name }) => name)).toEqual(expect.arrayContaining([...prompts]));
    });

    it("[SEC-06] S2: a secret can be used by code, and its output is ***REDACTED***", async () => {
      const added = await run(["vault", "add", "API_KEY", "sk-1234567890"]);
      expect(added.code, added.stderr).toBe(0);
      const code = "import os; print(os.environ.get('API_KEY'))";
      const result = await client.callTool({ name: "execute_code", arguments: { code } });
      expect(result.structuredContent).toMatchObject({ stdout: "***REDACTED***\n" });
    });

    it("[VAL-02] S3: run_sandbox_code refuses what the document lists", async () => {
      for (const code of ["import os", "exec('1')", "().__class__.__subclasses__()"]) {
        const result = await client.callTool({ name: "run_sandbox_code", arguments: { code, timeout_sec: 5.0 } });
        expect(result.isError, code).toBe(true);
      }
    });
  });

  it("[API-01] S1: each request, with the answer printed", async () => {
    const made = await up.fetch("/api/v1/sandboxes", {
      memory_mb: 512,
      idle_timeout_seconds: 1800,
      session_key: "agent-session-abc",
    });
    expect(made.status).toBe(201);
    const sandbox = (await made.json()) as { id: string };
    expect(sandbox).toMatchObject({ status: "running", workspace_path: "/workspace" });
    const key = (await readFile(join(up.home, "admin-key"), "utf8")).trim();
    const put = (name: string, body: string) =>
      fetch(`${up.base}/api/v1/sandboxes/${sandbox.id}/files/${name}`, {
        method: "PUT",
        headers: { "x-api-key": key, "content-type": "application/octet-stream" },
        body,
      });
    expect((await put("data.csv", "a,b\n1,2\n")).status).toBe(204);
    await put("analyze.py", "import os; os.makedirs('outputs'); open('outputs/chart.png', 'w').write('x' * 45678)");
    await put("main.py", "print('Done.', end='')");
    const exec = async (body: object) => (await up.fetch(`/api/v1/sandboxes/${sandbox.id}/exec`, body)).json();
    const command = "python analyze.py --input data.csv";
    expect(await exec({ command, timeout_seconds: 300 })).toMatchObject({
      exit_code: 0,
      duration_ms: expect.any(Number),
      files_changed: expect.arrayContaining([
        expect.objectContaining({ path: "outputs/chart.png", action: "created", size_bytes: 45678 }),
      ]),
    });
    expect(await exec({ command: "python main.py" })).toMatchObject({ exit_code: 0, stdout: "Done." });
    const listed = await up.fetch(`/api/v1/sandboxes/${sandbox.id}/files?path=/workspace/outputs`);
    expect(await listed.json()).toMatchObject([{ name: "chart.png", type: "file", size: 45678 }]);
  });
});

describe("the other lines of the seeds", () => {
  it("[EVT-01] S2: all 14 types of event", () => {
    expect(eventTypes.filter((type) => !feedTypes.some((known) => known === type))).toEqual([]);
  });

  it("[API-06] S2: the library's examples, in TypeScript", { timeout: 60_000 }, async () => {
    const home = await mkdtemp("/var/tmp/caisson-seeds-library-");
    try {
      await using sandbox = await createSandbox({ home, root, environment: {}, settings: { engine: "container" } });
      const run = async (language: "python" | "node" | "shell", code: string) =>
        (await sandbox.executeCode({ language, code })).stdout;
      expect(await run("python", "print('hello sandbox')")).toBe("hello sandbox\n");
      expect(await run("python", "print(2 + 2)")).toBe("4\n");
      expect(await run("node", "console.log(2 + 2)")).toBe("4\n");
      expect(await run("shell", "echo $((2 + 2))")).toBe("4\n");
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it("name a requirement that is delivered for each promise", async () => {
    const table = await readFile(join(root, "docs/requirements.md"), "utf8");
    const isDelivered = (id: string) => new RegExp(`^\\| ${id} \\|.*\\| delivered: `, "m").test(table);
    expect(promises.filter(([, , id]) => !isDelivered(id))).toEqual([]);
  });

  it("are counted in docs/seeds.md, by what they wait for", async () => {
    const page = await readFile(join(root, "docs/seeds.md"), "utf8");
    const run = commandLines.length + variables.length + Object.keys(tools).length + resources.length + prompts.length;
    const rows = Object.entries(waiting).map(([subject, lines]) => `| ${subject} | ${lines.length} |`);
    const counts = [
      `| run as printed | ${run + eventTypes.length + factoryYaml.trim().split("\n").length} |`,
      `| held by a delivered requirement | ${promises.length} |`,
      ...rows,
    ];
    expect(counts.filter((row) => !page.includes(row))).toEqual([]);
  });
});
