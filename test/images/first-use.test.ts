import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Caisson } from "../../packages/sdk/src/index.ts";
import { readSpec } from "../../packages/server/src/images/read-spec.ts";
import { noRegistries } from "../../packages/server/src/package-install/read-registries.ts";
import { ordinary, root } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { openRegistries, type TestRegistries } from "./fixture.ts";

const text = "name: skills-runtime\naliases: ['mcpgateway/sandbox-python:3.12']\ndebian: [tool, python3>=3.12]\n";
const image = "mcpgateway/sandbox-python:3.12";

describe.skipIf(ordinary)("an image of the catalogue on a fresh machine", () => {
  let registries: TestRegistries;
  let server: TestServer;
  let folder: string;
  let admin: Caisson;
  let adminKey: string;
  /** The packages of the image come once the command line has shown a step. */
  const seen = Promise.withResolvers<void>();

  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-test-");
    registries = await openRegistries(seen.promise);
    server = await openTestServer("container", {
      network: { dnsServers: [registries.dns] },
      packages: {
        ...{ registries: noRegistries, apt: registries.apt, mustPin: false, makesCatalogue: true },
        catalogue: [{ spec: await readSpec(text), text }],
      },
    });
    adminKey = (await server.keyring.issue({ name: "admin", namespace: "default", role: "admin" })).token;
    admin = new Caisson({ url: server.base, key: adminKey });
  });
  afterAll(async () => {
    for await (const sandbox of admin?.listSandboxes() ?? []) await sandbox.destroy();
    for (const { id } of (await admin?.images.list()) ?? []) await admin.images.delete(id);
    await server?.[Symbol.asyncDispose]();
    await registries?.[Symbol.asyncDispose]();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  /** The command line, as its caller sees it. */
  const caisson = (...words: string[]) =>
    new Promise<{ stdout: string; stderr: string }>((resolve) => {
      const env = { ...process.env, CAISSON_HOME: folder, CAISSON_URL: server.base, CAISSON_API_KEY: adminKey };
      const child = spawn(join(root, "caisson"), words, { env, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
      const said = { stdout: "", stderr: "" };
      child.stdout.on("data", (chunk) => (said.stdout += chunk));
      child.stderr.on("data", (chunk) => {
        said.stderr += chunk;
        if (said.stderr.includes("[2/")) seen.resolve();
      });
      child.once("close", () => {
        seen.resolve(); // a command that showed nothing fails the test, and holds nothing up
        resolve(said);
      });
    });

  it("[IMG-02] is there for the request that the REST seed prints, for a tool and for the command line, and made once", async () => {
    const agent = await server.as("agent");
    const json = { image, memory_mb: 512, idle_timeout_seconds: 1800, session_key: "agent-session-abc" };
    // The first to ask. The build waits at its second step until the command line has shown it.
    const command = caisson("create", "--image", "skills-runtime");
    await expect.poll(async () => (await agent.send("GET", "/api/v1/images")).json.length, { timeout: 60_000 }).toBe(1);
    const [made, byTool, byCommand] = await Promise.all([
      agent.send("POST", "/api/v1/sandboxes", { json }),
      agent.send("POST", "/api/v1/tools/create_session", {
        json: { image, session_id: "of-a-tool", language: "shell" },
      }),
      command,
    ]);
    expect(made).toMatchObject({ status: 201, json: { status: "running", workspace_path: "/workspace" } });
    expect(byTool).toMatchObject({ status: 200, json: { result: { created: true } } });
    expect(byCommand.stderr).toMatch(/^(\[\d+\/\d+\] .*\n)+$/); // its steps and nothing else
    expect(byCommand.stderr).toContain("debian: download\n");
    expect(byCommand.stdout).toMatch(/^[0-9a-z]{16}\n$/);
    const run = { command: "python --version" };
    const { json: done } = await agent.send("POST", `/api/v1/sandboxes/${made.json.id}/exec`, { json: run });
    expect(done).toMatchObject({ exit_code: 0, stdout: "Python 3.12.1\n" });
    const ready = await agent.send("GET", "/api/v1/images");
    expect(ready.json).toMatchObject([{ name: "skills-runtime", state: "ready" }]);
    const rows = await server.store.audit.search({ after: 0, limit: 1_000, type: "image.requested" });
    expect(rows).toHaveLength(1);
  }, 120_000);
});
