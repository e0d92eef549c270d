import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, rmdir, symlink, truncate, writeFile } from "node:fs/promises";
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
    const full = { status: 507, code: "limit_exceeded", says: expect.stringMatching(/room/), hint: expect.any(String) };
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

  it("[SBX-10] has no room for a workspace that the disk could not hold, and says so with 507 (hazard 8)", async () => {
    await using server = await openTestServer("container");
    const api = await server.as("agent");
    const id = await api.create();
    // Ten terabytes are promised to another.
    const other = join(server.home, "engine/sandboxes/aaaaaaaaaaaaaaaa");
    await mkdir(other);
    await writeFile(join(other, "workspace.img"), "");
    await truncate(join(other, "workspace.img"), 10 * 1024 ** 4);
    const { status, json } = await api.post("/api/v1/sandboxes", {});
    expect([status, json.code]).toEqual([507, "limit_exceeded"]);
    expect(json).toMatchObject({
      detail: expect.stringContaining("not enough disk space for a workspace"),
      hint: expect.any(String),
    });
    const full = await api.post(`/api/v1/sandboxes/${id}/exec`, { command: "head -c 100M /dev/zero >file; true" });
    expect(full.status).toBe(200);
    expect((await api.put(`/api/v1/sandboxes/${id}/files/more`, Buffer.alloc(1024 ** 2))).status).toBe(507);
    await rm(other, { recursive: true });
    expect((await api.post("/api/v1/sandboxes", {})).status).toBe(201);
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
    // Where it is missing concerns whoever runs the place.
    expect(JSON.stringify(json)).not.toContain(folder);
    expect(server.errors.map(String).join()).toContain(runtime);
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
