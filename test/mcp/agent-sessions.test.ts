import { describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import { openTestServer } from "../http/server.ts";
import { agentAt } from "./agent.ts";
import { connectClient } from "./client.ts";
import { refusalOf, resultOf } from "./results.ts";

describe.each(engines)("sessions of agents on %s", (engine) => {
  const { server, client, done, refused } = agentAt(engine);
  const run = (given: object) => done("execute_code", given);

  it.each([
    ["python", "x = 41", "x + 1", "import os; os._exit(3)"],
    ["node", "const x = 41", "x + 1", "process.reallyExit(3)"],
  ])("keep the variables of %s between calls, and say when they are gone", async (language, set, get, end) => {
    const { session_id, sandbox_id } = await done("create_session", { language });
    expect(await run({ session_id, code: set })).toMatchObject({ exit_code: 0, state: "new", session_id, sandbox_id });
    expect(await run({ session_id, code: get })).toMatchObject({ state: "kept", results: [{ text: "42", json: 42 }] });
    expect(await run({ session_id, code: end })).toMatchObject({ exit_code: 3, error: { name: "ContextEnded" } });
    expect(await run({ session_id, code: get })).toMatchObject({ exit_code: 1, state: "new" });
  });

  it("say what they are for where sessions are listed", async () => {
    const description = "prices of May";
    const { session_id } = await done("create_session", { description });
    const { sessions } = await done("inspect_state", { session_id });
    expect(sessions).toContainEqual(expect.objectContaining({ session_id, description }));
    const [content] = (await client().readResource({ uri: "sandbox://status" })).contents;
    const { sandboxes } = JSON.parse((content as { text: string }).text);
    expect(sandboxes).toContainEqual(expect.objectContaining({ session_id, description }));
    await done("terminate_session", { session_id });
  });

  it("run code in a process of its own where no session is named, or that is asked for", async () => {
    expect(await run({ code: "y = 1" })).not.toHaveProperty("state");
    expect(await run({ code: "y" })).toMatchObject({ exit_code: 1, stderr: expect.stringContaining("NameError") });
    expect(await run({ session_id: "mine", code: "y = 1" })).toMatchObject({ state: "new" });
    expect(await run({ session_id: "mine", code: "print(y)", stateful: false })).toMatchObject({ exit_code: 1 });
    expect(await run({ session_id: "mine", code: "echo $0", language: "shell" })).toMatchObject({ stdout: "bash\n" });
  });

  it("tell of files that a kept interpreter changed, and keep an error apart from what was written", async () => {
    const code = "open('made', 'w').write('1')\nprint('said')\n1/0";
    const result = await run({ session_id: "files", code });
    expect(result).toMatchObject({
      stdout: "said\n",
      error: { name: "ZeroDivisionError", traceback: expect.stringContaining("1/0") },
      files_changed: [{ path: "made", action: "created", size_bytes: 1 }],
    });
  });

  it("refuse what a kept interpreter cannot have, and say how it can be had", async () => {
    const refusal = await refused("execute_code", { session_id: "env", code: "1", env: { A: "b" } });
    expect(refusal).toMatchObject({ error: "invalid", hint: expect.stringContaining("`stateful: false`") });
  });

  it("interrupt code whose caller is gone, and no other's: variables live on", async () => {
    const session_id = "cancelled";
    await run({ session_id, code: "kept = 1" });
    const control = new AbortController();
    const started = Promise.withResolvers<void>();
    const endless = client().callTool(
      { name: "execute_code", arguments: { session_id, code: "print('on', flush=True)\nwhile True: pass" } },
      { signal: control.signal, onprogress: () => started.resolve() },
    );
    await started.promise;
    const next = run({ session_id, code: "kept" });
    control.abort();
    await expect(endless).rejects.toThrow();
    expect(await next).toMatchObject({ state: "kept", results: [{ text: "1" }] });
  });

  it("end for good, files and all", async () => {
    const { session_id } = await done("create_session", {});
    await done("write_file", { session_id, path: "kept", content: "x" });
    expect(await done("terminate_session", { session_id })).toMatchObject({ session_id, terminated: true });
    expect(await refused("read_file", { session_id, path: "kept" })).toMatchObject({ error: "not_found" });
    expect(await refused("terminate_session", { session_id })).toMatchObject({ error: "not_found" });
  });

  it("have files that tools write, read in parts, find, move and delete", async () => {
    const session_id = "files";
    const at = { session_id, path: "notes/ä.txt" };
    const written = await done("write_file", { ...at, content: "one\nzwölf\n" });
    expect(written).toMatchObject({ size_bytes: 11, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(await done("read_file", { ...at, max_bytes: 7 })).toMatchObject({
      content: "one\nzw",
      next_offset: 6,
    });
    expect(await done("read_file", { ...at, offset: 6 })).toMatchObject({
      content: "ölf\n",
      next_offset: null,
    });
    await done("write_file", { session_id, path: "bytes", content: "/wA=", encoding: "base64" });
    expect(await done("read_file", { session_id, path: "bytes" })).toMatchObject({
      content: "/wA=",
      encoding: "base64",
    });
    const found = await done("search_files", { session_id, text: "zw" });
    expect(found).toMatchObject({ matches: [{ path: "notes/ä.txt", line: 2, column: 1 }], truncated: false });
    await done("move_file", { session_id, from: "bytes", to: "notes/bytes" });
    const listed = await done("list_files", { session_id, path: "notes" });
    expect(listed.files).toMatchObject([{ name: "bytes", size: 2 }, { name: "ä.txt" }]);
    expect((await refused("delete_file", { session_id, path: "notes" })).error).toBeDefined();
    await done("delete_file", { session_id, path: "notes", recursive: true });
    expect(await refused("list_files", { session_id, path: "notes" })).toMatchObject({ error: "not_found" });
  });

  it("make nothing for whoever may only read", async () => {
    const viewer = await connectClient(server(), "2026-07-28", { role: "viewer" });
    const before = (await server().store.sandboxes.living()).length;
    const read = await viewer.callTool({ name: "read_file", arguments: { session_id: "nobody's", path: "x" } });
    expect(refusalOf(read)).toMatchObject({ error: "not_found" });
    const run = await viewer.callTool({ name: "execute_code", arguments: { code: "1" } });
    expect(refusalOf(run)).toMatchObject({ error: "forbidden" });
    expect((await server().store.sandboxes.living()).length).toBe(before);
    await viewer.close();
  });
});

it("where policy lets nothing live on, sessions keep their files, and say so when asked for more", async () => {
  await using server = await openTestServer("container", { background: { allowed: false, mostMs: 1000 } });
  const client = await connectClient(server, "2026-07-28");
  const call = (name: string, given: object) => client.callTool({ name, arguments: { ...given } });
  const { session_id } = resultOf(await call("create_session", {}));
  const run = resultOf(await call("execute_code", { session_id, code: "open('kept', 'w').write('1')\nprint(1)" }));
  expect(run).toMatchObject({ exit_code: 0, stdout: "1\n" });
  expect(run).not.toHaveProperty("state");
  expect(resultOf(await call("read_file", { session_id, path: "kept" }))).toMatchObject({ content: "1" });
  const asked = refusalOf(await call("execute_code", { session_id, code: "1", stateful: true }));
  expect(asked).toMatchObject({ error: "forbidden", hint: expect.stringContaining("policy.background") });
  await client.close();
});
