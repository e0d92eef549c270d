import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm, rmdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { findProgram } from "../../packages/server/src/engines/runtime.ts";
import { ordinary, soak } from "../harness.ts";
import { openTestServer } from "./server.ts";

const run = promisify(execFile);

describe("the REST API on a broken host", () => {
  it.skipIf(ordinary)("says that its disk is full, lives on, and works again when there is room", async () => {
    const folder = await mkdtemp("/var/tmp/caisson-full-");
    const script = 'mount -t tmpfs -o size=4m tmpfs "$1"; exec "$2" "$3" "$1"';
    const program = join(import.meta.dirname, "full-server.ts");
    const { stdout } = await run("unshare", ["-m", "sh", "-ec", script, "sh", folder, process.execPath, program]);
    await rmdir(folder);
    const full = { status: 429, code: "limit_exceeded", says: expect.stringMatching(/room/), hint: expect.any(String) };
    expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toEqual({
      failed: full,
      created: full,
      ready: { status: 503, code: "unavailable", says: "not ready: store", hint: expect.any(String) },
      alive: 200,
      listed: 200,
      again: "kept\n",
      problems: [],
    });
  });

  it("says that its runtime is missing, lives on, and works when it is there", async () => {
    const folder = await mkdtemp("/var/tmp/caisson-runtime-");
    await chmod(folder, 0o755);
    const runtime = join(folder, "runc");
    await using server = await openTestServer("container", { runtimePaths: { container: runtime } });
    const api = await server.as("agent");
    const { status, json } = await api.post("/api/v1/sandboxes", { engine: "container" });
    expect([status, json.code]).toEqual([503, "unavailable"]);
    expect(json).toMatchObject({ detail: expect.stringContaining("No such file"), hint: expect.any(String) });
    expect((await api.get("/healthz")).status).toBe(200);
    const installed = await findProgram("runc");
    await symlink(installed ?? "", runtime);
    const id = await api.create({ engine: "container" });
    expect((await api.post(`/api/v1/sandboxes/${id}/exec`, { command: "echo works" })).json.stdout).toBe("works\n");
    await rm(folder, { recursive: true });
  });

  // It is waited for as long as a slow machine may take.
  it.skipIf(!soak)("gives a runtime up that hangs, leaves nothing of it behind, and lives on", async () => {
    const folder = await mkdtemp("/var/tmp/caisson-runtime-");
    await chmod(folder, 0o755);
    const runtime = join(folder, "runc");
    await run("cc", ["-static", "-o", runtime, join(import.meta.dirname, "hanging-runtime.c")]);
    await using server = await openTestServer("container", { runtimePaths: { container: runtime } });
    const api = await server.as("agent");
    const creating = api.post("/api/v1/sandboxes", { engine: "container" });
    expect((await api.get("/healthz")).status).toBe(200);
    const { status, json } = await creating;
    expect([status, json.code, json.hint]).toEqual([504, "timeout", expect.any(String)]);
    expect((await api.get("/healthz")).status).toBe(200);
    await rm(folder, { recursive: true });
  });
});
