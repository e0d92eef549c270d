import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Caisson } from "../../packages/sdk/src/index.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

describe("what lives on, through the SDK", () => {
  let server: TestServer;
  let caisson: Caisson;
  beforeAll(async () => {
    server = await openTestServer("container");
    const { token } = await server.keyring.issue({ name: "sdk", namespace: "default", role: "admin" });
    caisson = new Caisson({ url: server.base, key: token });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[API-05] processes are started, read, written to, signalled and waited for", async () => {
    await using sandbox = await caisson.createSandbox();
    const process = await sandbox.processes.start("echo ready; cat; exit 4", { stdin: true });
    expect(await process.write("typed\n")).toBe(true);
    await process.closeInput();
    const output: string[] = [];
    for await (const message of process.output())
      output.push(message.type === "output" ? message.data : `exit ${message.result?.exit_code}`);
    expect(output.join("")).toBe("ready\ntyped\nexit 4");
    expect((await process.read({ offset: 6 })).data).toBe("typed\n");
    const sleeper = await sandbox.processes.start(["sleep", "1000"]);
    expect((await sandbox.processes.list()).map(({ id }) => id).sort()).toEqual([process.id, sleeper.id].sort());
    await sleeper.signal("SIGTERM");
    expect((await sleeper.wait()).result).toMatchObject({ signal: "SIGTERM" });
  });

  it("[API-05] contexts keep their variables", async () => {
    await using sandbox = await caisson.createSandbox();
    await using context = await sandbox.contexts.create({ language: "python" });
    await context.run("x = 20");
    expect((await context.run("x + 22")).results).toMatchObject([{ kind: "value", text: "42" }]);
    expect((await context.run("1/0")).error).toMatchObject({ name: "ZeroDivisionError" });
    const seen: string[] = [];
    for await (const message of context.runStream("print(x); x")) seen.push(message.type);
    expect(seen).toEqual(["stdout", "result"]);
  });

  it("[API-04] terminals echo, are resized, and say how they ended", async () => {
    await using sandbox = await caisson.createSandbox();
    let shown = "";
    using terminal = await sandbox.terminal({
      command: "read line; echo got-$line; read line; stty size; exit 5",
      onOutput: (data) => {
        shown += new TextDecoder().decode(data);
      },
    });
    terminal.write("keys\r");
    await expect.poll(() => shown, { timeout: 20_000 }).toContain("got-keys");
    terminal.resize({ rows: 33, columns: 99 });
    terminal.write("\r");
    expect(await terminal.ended).toMatchObject({ exit_code: 5 });
    expect(shown).toContain("33 99");
  });

  it("[API-04] events come as they happen", async () => {
    const types = ["sandbox.created", "sandbox.destroyed"];
    const sandbox = await caisson.createSandbox();
    const seen: string[] = [];
    for await (const { type, sandbox_id } of caisson.events({ types, after: 0 })) {
      if (sandbox_id !== sandbox.id) continue;
      seen.push(type);
      if (type === "sandbox.destroyed") break;
      await sandbox.destroy();
    }
    expect(seen).toEqual(["sandbox.created", "sandbox.destroyed"]);
  });

  it("[API-05] keys are made and revoked, and the log tells of it", async () => {
    const made = await caisson.keys.create({ name: "short", role: "viewer" });
    const viewer = new Caisson({ url: server.base, key: made.key });
    expect((await viewer.stats()).sandboxes).toBeDefined();
    await expect(viewer.createSandbox()).rejects.toMatchObject({ code: "forbidden" });
    await caisson.keys.revoke(made.id);
    await expect(viewer.stats()).rejects.toMatchObject({ code: "unauthenticated" });
    const rows = await caisson.audit.search({ type: "key.revoked" });
    expect(rows).toMatchObject([{ detail: { key_id: made.id } }]);
    expect(JSON.stringify(await caisson.audit.search({ limit: 100 }))).not.toContain(made.key);
    expect(await caisson.audit.verify()).toMatchObject({ ok: true, problems: [] });
  });
});
