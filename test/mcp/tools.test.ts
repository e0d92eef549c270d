import { describe, expect, it, vi } from "vitest";
import { verifyFile } from "../../packages/server/src/sandboxes/manifest.ts";
import { engines } from "../harness.ts";
import { agentAt } from "./agent.ts";
import { connectClient } from "./client.ts";
import { resultOf } from "./results.ts";

describe.each(engines)("tools of agents on %s", (engine) => {
  const { server, done, refused } = agentAt(engine);
  const run = (given: object) => done("execute_code", given);

  it("[EXE-11] bridge_data passes JSON between Python and Node.js, of one session and of two", async () => {
    const value = { text: 'ä"\\\n\u2028', list: [1, null, true, -0.5], deep: { er: [] } };
    const session_id = "py";
    expect(await done("bridge_data", { session_id, key: "data", value })).toMatchObject({ action: "set", key: "data" });
    const grown = await run({ session_id, code: "data['seen'] = data['text'] == 'ä\"\\\\\\n\\u2028'\ndata['list']" });
    expect(grown.results).toMatchObject([{ json: value.list }]);
    await done("create_session", { session_id: "js", language: "node" });
    const copied = { session_id: "js", key: "copy", from_session: "py", from_key: "data" };
    expect(await done("bridge_data", copied)).toMatchObject({ action: "copied", language: "node" });
    await run({ session_id: "js", code: "const more = { ...copy, by: 'node' }" });
    await done("bridge_data", { session_id: "js", key: "more", language: "python", from_language: "node" });
    const read = await done("bridge_data", { session_id: "js", key: "more", language: "python" });
    expect(read).toMatchObject({ action: "read", value: { ...value, seen: true, by: "node" } });
  });

  it("bridge_data takes no name that is code, nothing too large or too deep, and says what is no JSON", async () => {
    const session_id = "py";
    expect(await refused("bridge_data", { session_id, key: "a; import os", value: 1 })).toMatchObject({
      error: "invalid",
    });
    expect(await refused("bridge_data", { session_id, key: "__builtins__", value: 1 })).toMatchObject({
      error: "invalid",
    });
    const large = "x".repeat(1024 * 1024);
    expect(await refused("bridge_data", { session_id, key: "a", value: large })).toMatchObject({ error: "too_large" });
    let deep: unknown = 1;
    for (let n = 0; n < 100; n++) deep = [deep];
    expect(await refused("bridge_data", { session_id, key: "a", value: deep })).toMatchObject({ error: "invalid" });
    await run({ session_id, code: "odd = {1, 2}\nlarge = 'x' * (1 << 20)" });
    const read = (key: string) => refused("bridge_data", { session_id, key });
    expect(await read("odd")).toMatchObject({ message: expect.stringContaining("not JSON serializable") });
    expect(await read("missing")).toMatchObject({ message: expect.stringContaining("NameError") });
    expect(await read("large")).toMatchObject({ error: "too_large" });
    await run({ session_id, code: "import json\njson.dumps = lambda *a, **k: '[' * 200_000 + ']' * 200_000" });
    expect(await read("large")).toMatchObject({ error: "too_large", message: expect.stringContaining("64 deep") });
  });

  it("a label that is no time gives runs neither more of it nor less", async () => {
    const agent = await server().as("agent");
    for (const [index, odd] of ["NaN", "-1", "1e99", "soon", ""].entries()) {
      const session_id = `odd-${index}`;
      await agent.post("/api/v1/sandboxes", { session_key: session_id, labels: { "session.timeout_seconds": odd } });
      expect(await run({ session_id, code: "print(1)" })).toMatchObject({ stdout: "1\n", timed_out: false });
      expect(await done("set_resource_limits", { session_id, cpus: 1 })).toMatchObject({ timeout_seconds: 60 });
      await done("terminate_session", { session_id });
    }
  });

  it("inspect_state tells variables with types and sizes, and masks secrets in the environment", async () => {
    await server().vault.put(operator, { name: "KEY", value: Buffer.from("hidden-value-1") });
    const session_id = "looked-at";
    const env = { PLAIN: "shown", MY_API_TOKEN: "not shown", COPY: "has hidden-value-1 in it" };
    const { sandbox_id } = await done("create_session", { session_id, env });
    await server().vault.bind(operator, "KEY", {
      target: { sandboxId: sandbox_id },
      delivery: { as: "env", variable: "BOUND" },
    });
    await run({ session_id, code: "text = 'abc'\nnumbers = [1, 2]\nclass Odd: pass\nodd = Odd()" });
    await run({ session_id, code: "const list = [1, 2, 3]; var old = 'x'; later = 5", language: "node" });
    const { interpreters, environment, ...rest } = await done("inspect_state", { session_id });
    const [python, node] = interpreters;
    const rows = [
      { name: "text", type: "str", size_bytes: expect.any(Number), length: 3 },
      { name: "numbers", type: "list", size_bytes: expect.any(Number), length: 2 },
      { name: "Odd", type: "type", size_bytes: expect.any(Number), length: null },
      { name: "odd", type: "Odd", size_bytes: null, length: null },
    ];
    expect(python).toEqual({ language: "python", busy: false, truncated: false, variables: rows });
    expect(node.variables.map(({ name, type, length }: Record<string, unknown>) => [name, type, length])).toEqual([
      ["list", "Array", 3],
      ["old", "string", 1],
      ["later", "number", null],
    ]);
    expect(environment).toMatchObject({
      PLAIN: "shown",
      MY_API_TOKEN: "***REDACTED***",
      BOUND: "***REDACTED***",
      COPY: "has ***REDACTED*** in it",
    });
    expect(rest).toMatchObject({ session_id, sandbox_id, status: "running", processes: 0 });
    expect(rest.sessions).toContainEqual(expect.objectContaining({ session_id, language: "python" }));
    expect(await done("inspect_state", { session_id: "never" })).toMatchObject({ sandbox_id: null, interpreters: [] });
  });

  it("start_process, its output, input and end: by pipes, and on a terminal", async () => {
    const cat = await done("start_process", { command: "cat; echo over", stdin: true });
    const { process_id } = cat;
    await done("process_input", { process_id, data: "typed ä\n" });
    const first = await done("process_output", { process_id, wait_seconds: 30 });
    expect(first).toMatchObject({ data: "typed ä\n", ended: false, state: "running" });
    await done("process_input", { process_id, close: true });
    await vi.waitFor(async () => {
      const rest = await done("process_output", { process_id, offset: first.next_offset });
      expect(rest).toMatchObject({ data: "over\n", ended: true, result: { exit_code: 0 } });
    }, 20_000);
    const shell = await done("start_process", { command: "tty; read line; echo got $line; sleep 1000", terminal: {} });
    const at = { process_id: shell.process_id };
    expect((await done("process_output", { ...at, wait_seconds: 30 })).data).toContain("/dev/pts/");
    await done("process_input", { ...at, data: "hello\n" });
    await vi.waitFor(async () => expect((await done("process_output", at)).data).toContain("got hello"), 20_000);
    expect(await done("kill_process", at)).toMatchObject({ delivered: true });
    expect(await done("kill_process", at)).toMatchObject({ delivered: false });
    const { processes } = await done("list_processes");
    expect(processes.map((one: { state: string }) => one.state)).toEqual(["exited", "exited"]);
    expect(await refused("process_output", { process_id: "p-none" })).toMatchObject({ error: "not_found" });
  });

  it("snapshots bring the workspace back as it was", async () => {
    const session_id = "snapped";
    await done("write_file", { session_id, path: "kept", content: "1" });
    const taken = await done("create_state_snapshot", { session_id, description: "before" });
    expect(taken).toMatchObject({ description: "before", file_count: 1, total_size: 1 });
    const { snapshot_id } = taken;
    await run({ session_id, language: "shell", code: "echo 2 >kept; echo 3 >extra" });
    const restored = await done("restore_state_snapshot", { session_id, snapshot_id });
    expect(restored).toMatchObject({ snapshot_id, deleted: 1, written: 1, session_id });
    expect(await run({ session_id, language: "shell", code: "cat kept; ls" })).toMatchObject({
      stdout: "1kept\noutput\n",
    });
    const second = await done("create_state_snapshot", { session_id });
    const ids = async (given: object) =>
      (await done("list_state_snapshots", given)).snapshots.map((one: { snapshot_id: string }) => one.snapshot_id);
    expect(await ids({ session_id })).toEqual([snapshot_id, second.snapshot_id]);
    expect(await ids({})).toEqual([]);
    expect(await ids({ all_sessions: true })).toEqual([snapshot_id, second.snapshot_id]);
    await done("delete_state_snapshot", { snapshot_id });
    expect(await refused("restore_state_snapshot", { snapshot_id })).toMatchObject({ error: "not_found" });
  });

  it("get_artifacts gives output files with a manifest that verifies", async () => {
    const session_id = "artful";
    await run({ session_id, language: "shell", code: "true" });
    expect(await done("get_artifacts", { session_id })).toMatchObject({ files: [], manifest: { files: [] } });
    await run({ session_id, language: "shell", code: "rmdir output" });
    expect(await done("get_artifacts", { session_id })).toMatchObject({ files: [] });
    await run({ session_id, language: "shell", code: "mkdir output; printf 42 >output/answer" });
    const { files, manifest, content_base64 } = await done("get_artifacts", { session_id, path: "answer" });
    expect(files).toMatchObject([{ path: "answer", size_bytes: 2 }]);
    const { publicKey } = await server().caisson.signer();
    verifyFile(manifest, publicKey, "answer", Buffer.from(content_base64, "base64"));
    expect(() => verifyFile(manifest, publicKey, "answer", Buffer.from("43"))).toThrow();
    expect(await refused("get_artifacts", { session_id, path: "../x" })).toMatchObject({ error: "not_found" });
  });

  it("set_resource_limits holds at once, also for the time of a run, and names a cap", async () => {
    const session_id = "limited";
    const set = await done("set_resource_limits", {
      session_id,
      memory_mb: 256,
      max_processes: 32,
      timeout_seconds: 0.2,
    });
    expect(set).toMatchObject({ memory_mb: 256, max_processes: 32, timeout_seconds: 0.2 });
    expect(await run({ session_id, language: "shell", code: "sleep 1000" })).toMatchObject({ timed_out: true });
    expect(await done("set_resource_limits", { session_id, cpus: 1 })).toMatchObject({
      memory_mb: 256,
      timeout_seconds: 0.2,
    });
    expect((await refused("set_resource_limits", { session_id, memory_mb: 100_000 })).message).toMatch(/memory/);
    expect(await refused("set_resource_limits", { session_id })).toMatchObject({ error: "invalid" });
  });

  it("list_runtimes, sandbox_stats and get_sandbox_metrics tell what there is and what is used", async () => {
    const { languages, engines: known, engine: own, images, image } = await done("list_runtimes");
    expect([images, image]).toEqual([[{ name: "host", description: expect.any(String) }], "host"]);
    expect(languages.map(({ language, stateful }: Record<string, unknown>) => [language, stateful])).toEqual([
      ["python", true],
      ["node", true],
      ["shell", false],
    ]);
    for (const { version } of languages) expect(version).toMatch(/^\d+\.\d+/);
    expect(known).toContain(own);
    expect(own).toBe(engine);
    const stats = await done("sandbox_stats");
    expect(stats).toMatchObject({ queue: { waiting: 0 }, session: { memory_bytes: expect.any(Number) } });
    expect(stats.sandboxes.running).toBe(stats.sessions);
    await refused("read_file", { path: "nothing" });
    const { tools, total_calls, resources } = await done("get_sandbox_metrics");
    expect(tools.read_file.failed).toBeGreaterThan(0);
    expect(tools.list_runtimes).toMatchObject({ calls: 1, failed: 0, mean_ms: expect.any(Number) });
    expect(total_calls).toBeGreaterThan(tools.execute_code.calls);
    expect(resources.memory_limit_bytes).toBeGreaterThan(0);
  });

  it("request_egress asks a human, waits for the answer, and finds it again", async () => {
    const asked = await done("request_egress", { domain: "API.example.com.", purpose: "weather", wait: false });
    expect(asked).toMatchObject({ domain: "api.example.com", port: 443, state: "pending" });
    const waiting = done("request_egress", { domain: "api.example.com", wait_seconds: 30 });
    await server().approvals.decide(operator, asked.approval_id, { approve: true, scope: "sandbox" });
    expect(await waiting).toMatchObject({ state: "approved" });
    expect(await done("request_egress", { domain: "api.example.com" })).toMatchObject({ state: "approved" });
    expect(await refused("request_egress", { domain: "http://x/" })).toMatchObject({ error: "invalid" });
  });

  it("[NET-09] request_egress returns when the question is decided or expires, and with wait: false at once", async () => {
    const ask = (given: object) => done("request_egress", { domain: "slow.example.com", ...given });
    let isOver = false;
    const waiting = ask({}).finally(() => (isOver = true));
    const { approval_id: id, state, sandbox_id } = await ask({ wait: false });
    expect([state, isOver]).toEqual(["pending", false]);
    await server().approvals.decide(operator, id, { approve: false });
    expect(await waiting).toMatchObject({ approval_id: id, state: "denied" });
    const expiring = { kind: "egress", host: "late.example.com", sandbox_id, timeout_seconds: 1 };
    await (await server().as("agent")).post("/api/v1/approvals", expiring);
    const late = done("request_egress", { domain: "late.example.com" });
    expect(await late).toMatchObject({ state: "expired" });
  });

  it("audit_execution shows an agent what it did itself, and an operator the namespace", async () => {
    const other = await connectClient(server(), "2026-07-28");
    const theirs = resultOf(
      await other.callTool({ name: "execute_code", arguments: { session_id: "other", code: "1" } }),
    );
    const own = await done("audit_execution", { type: "execution.completed", limit: 2 });
    expect(own.entries).toHaveLength(2);
    expect(own.next_before).toBe(own.entries[1].position);
    expect(new Set(own.entries.map((row: { actor: string }) => row.actor)).size).toBe(1);
    expect((await done("audit_execution", { session_id: "other" })).entries).toEqual([]);
    const boss = await connectClient(server(), "2026-07-28", { role: "operator" });
    const seen = resultOf(await boss.callTool({ name: "audit_execution", arguments: { session_id: "other" } }));
    expect(seen.entries.map((row: { type: string }) => row.type)).toContain("execution.completed");
    expect(seen.entries[0].sandbox_id).toBe(theirs.sandbox_id);
    await Promise.all([other.close(), boss.close()]);
  });
});

const operator = {
  principal: { id: "operator", name: "operator", namespace: "default", role: "operator" as const },
  requestId: "test",
};
