import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSandbox, openCaisson } from "../../packages/server/src/index.ts";
import { makeDataFolder, removeDataFolder } from "../data-folder.ts";
import { engines, root } from "../harness.ts";

const MiB = 1024 ** 2;
const [engine = "container"] = engines;

describe("options of the library", () => {
  let home: string;
  const open = (environment = {}) => openCaisson({ home, root, environment, settings: { engine, max_storage_mb: 64 } });
  beforeAll(async () => {
    home = await makeDataFolder("/var/tmp/caisson-options-");
  });
  afterAll(() => removeDataFolder(home));

  it("[API-06] that do not exist are refused, of a sandbox, of its limits and of a run", async () => {
    await using caisson = await open();
    const refusals: [object, string, string][] = [
      [{ memory_limits: "1g" }, "a sandbox has no option 'memory_limits'", "did you mean memory_limit?"],
      [{ max_ram_mb: 64 }, "'max_ram_mb' is a setting", "settings: { max_ram_mb: … }"],
      [{ limits: { memoryMb: 5 } }, "limits of a sandbox has no option 'memoryMb'", "options: "],
      [{ resource_limits: { max_ram: 5 } }, "resource_limits has no option 'max_ram'", "did you mean max_ram_mb?"],
      [{ network_mode: "bridge" }, "network_mode: 'bridge' is not none", "a sandbox can only use the network by rules"],
      [{ memory_limit: "512" }, "memory_limit: '512' is not a size", "256m"],
    ];
    for (const [given, message, hint] of refusals)
      await expect(caisson.createSandbox(given)).rejects.toMatchObject({
        message,
        hint: expect.stringContaining(hint),
      });
    await expect(openCaisson({ home, setings: {} } as object)).rejects.toMatchObject({
      hint: "did you mean settings?",
    });
    await using sandbox = await caisson.createSandbox();
    const run = (given: object) => sandbox.exec({ command: "true", ...given });
    await expect(run({ timeout: 5 })).rejects.toMatchObject({ message: "a run has no option 'timeout'" });
    await expect(run({ limits: { timeout: 5 } })).rejects.toMatchObject({ hint: "did you mean timeoutMs?" });
    await expect(run({ resource_limits: { max_cpu_cores: 0.5 } })).rejects.toMatchObject({ code: "unsupported" });
  });

  it("[API-06] that do not exist are refused of a sandbox that goes on, of a context, its runs, and a process", async () => {
    await using caisson = await open();
    const sandbox = await caisson.createSandbox({ keep: true });
    const context = await sandbox.contexts.create({ language: "python" });
    const refusals: [Promise<unknown>, string, string][] = [
      [
        sandbox.contexts.create({ language: "python", memory_mb: 64 } as object as { language: "python" }),
        "a context has no option 'memory_mb'",
        "options: ",
      ],
      [context.run("1", { timeoutMs: 5 } as object), "a run in a context has no option 'timeoutMs'", "options: "],
      [context.run("1", { limit: {} } as object), "a run in a context has no option 'limit'", "did you mean limits?"],
      [
        sandbox.processes.start({ command: "true", comand: "" } as object as { command: string }),
        "a process has no option 'comand'",
        "did you mean command?",
      ],
    ];
    for (const [refused, message, hint] of refusals)
      await expect(refused).rejects.toMatchObject({ code: "invalid", message, hint: expect.stringContaining(hint) });
    await sandbox.detach();
    const wrong = { networks: {} } as object;
    const meant = { hint: "did you mean network?" };
    await expect(caisson.attachSandbox(sandbox.id, wrong)).rejects.toMatchObject(meant);
    await expect(caisson.startSandbox(sandbox.id, wrong)).rejects.toMatchObject(meant);
    await expect(caisson.startSandbox(sandbox.id, { limits: { cpu: 1 } as object })).rejects.toMatchObject({
      hint: "did you mean cpus?",
    });
    await caisson.destroySandbox(sandbox.id);
  });

  it("[API-06] give a sandbox a namespace when it is attached or started again", async () => {
    await using caisson = await open();
    caisson.vault_add("other", "API_KEY", "sk-1234567890");
    const seen: string[] = [];
    caisson.events.subscribe(({ type }) => seen.push(type), { namespace: "other" });
    const command = "printenv API_KEY || echo none";
    const made = await caisson.createSandbox({ keep: true });
    expect((await made.exec({ command })).stdout).toBe("none\n");
    await made.detach();
    const attached = await caisson.attachSandbox(made.id, { namespace: "other" });
    expect((await attached.exec({ command })).stdout).toBe("***REDACTED***\n");
    await attached.stop();
    await using started = await caisson.startSandbox(made.id, { namespace: "other" });
    expect((await started.exec({ command })).stdout).toBe("***REDACTED***\n");
    const run = ["execution.started", "execution.completed"];
    expect(seen).toEqual(["sandbox.attached", ...run, "sandbox.stopped", "sandbox.started", ...run]);
    await started.destroy();
  });

  it("[API-06] by the names of factories elsewhere hold: engine, memory, cores, limits of a run", async () => {
    const docker = { backend: "docker", memory_limit: "256m", cpu_period: 100_000, cpu_quota: 50_000 };
    const options = { home, root, environment: {}, settings: { max_storage_mb: 64 }, network_mode: "none", ...docker };
    await using sandbox = await createSandbox(options);
    expect(sandbox).toMatchObject({ engine: "container", limits: { memoryBytes: 256 * MiB, cpus: 0.5 } });
    await using caisson = await open();
    const resource_limits = { max_ram_mb: 128, max_cpu_cores: 1, max_processes: 20 };
    await using other = await caisson.createSandbox({ resource_limits });
    expect(other.limits).toMatchObject({ memoryBytes: 128 * MiB, cpus: 1, processes: 20 });
    const limits = { max_cpu_cores: 1, timeout_seconds: 0.2, max_processes: 5, max_output_bytes: 1000 };
    const late = await other.exec({ command: "yes | head -c 5000; sleep 60", resource_limits: limits });
    expect(late).toMatchObject({ ended_by: "time", truncated: true });
    const code = (text: string, own: object) =>
      other.executeCode({ language: "python", code: text, resource_limits: own });
    const crowd =
      "import os, time\nmade = 0\ntry:\n  while made < 19:\n    if os.fork() == 0: time.sleep(60)\n    made += 1\nexcept OSError: pass\nprint(made)";
    expect((await code(crowd, { max_processes: 5 })).stdout).toBe("4\n");
    expect(await code("import time\nx = b'x' * 100_000_000\ntime.sleep(60)", { max_ram_mb: 64 })).toMatchObject({
      ended_by: "memory",
    });
    const opened = { command: "true", allowed_domains: ["*.com"] };
    await expect(other.exec(opened)).rejects.toMatchObject({ code: "invalid" }); // the rule is read
  });

  it("[API-06] vault_add gives a variable to the sandboxes of a namespace, whose value is masked", async () => {
    await using caisson = await open();
    const seen: string[] = [];
    caisson.events.subscribe(({ type }) => seen.push(type), { namespace: "other" });
    await using before = await caisson.createSandbox();
    await using other = await caisson.createSandbox({ namespace: "other" });
    caisson.vault_add("default", "API_KEY", "sk-1234567890");
    await using after = await caisson.createSandbox();
    const code = "import os; print(os.environ.get('API_KEY'))";
    const read = async (sandbox: typeof before) =>
      (await sandbox.executeCode({ language: "python", code })).stdout.trim();
    before.setEnvironment({ PLAIN: "1" });
    expect([await read(before), await read(after), await read(other)]).toEqual([
      "***REDACTED***",
      "***REDACTED***",
      "None",
    ]);
    other.vault_add("API_KEY", "sk-0987654321");
    expect(await read(other)).toBe("***REDACTED***");
    expect(() => caisson.vault_add("default", "SHORT", "abc")).toThrow(/6 to/);
    const run = ["execution.started", "execution.completed"];
    expect(seen).toEqual(["sandbox.created", ...run, ...run]);
  });
});
