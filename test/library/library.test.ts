import { readdirSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  createSandbox,
  type JournalEvent,
  openCaisson,
  verifyFile,
  verifyManifest,
} from "../../packages/server/src/index.ts";
import { makeDataFolder, removeDataFolder } from "../data-folder.ts";
import { engines, root } from "../harness.ts";
import { killProcessesOf, readIfThere } from "../leaks.ts";

const MiB = 1024 ** 2;
let home: string;
beforeEach(async () => {
  home = await makeDataFolder("/var/tmp/caisson-library-");
});
afterEach(() => removeDataFolder(home));

/** The helper processes that this process has started and not ended. */
function helpers(): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) =>
    new RegExp(`^\\d+ \\(caisson-helper\\) [^ZX] ${process.pid} `).test(readIfThere(`/proc/${pid}/stat`)),
  );
}

describe.each(engines)("the library (%s)", (engine) => {
  const settings = { engine, max_storage_mb: 64 } as const;
  const open = () => openCaisson({ home, root, environment: {}, settings });

  it("[API-06] createSandbox makes a sandbox in this process, and its end closes what it opened", async () => {
    {
      await using sandbox = await createSandbox({ home, root, environment: {}, settings });
      expect(sandbox.engine).toBe(engine);
      expect((await sandbox.exec({ command: "echo hello" })).stdout).toBe("hello\n");
      expect(helpers()).toHaveLength(1);
      await sandbox.destroy();
    }
    await expect.poll(helpers, { timeout: 20_000 }).toEqual([]);
  });

  it("[API-06] a kept sandbox of createSandbox closes what it opened when it is detached, and lives on", async () => {
    const sandbox = await createSandbox({ home, root, environment: {}, settings, keep: true });
    await sandbox.detach();
    await expect.poll(helpers, { timeout: 20_000 }).toEqual([]);
    await using caisson = await open();
    const again = await caisson.attachSandbox(sandbox.id);
    expect((await again.exec({ command: "echo hello" })).stdout).toBe("hello\n");
    await again.destroy();
  });

  it("[API-06] takes defaults, YAML, the environment and options, each over those before it", async () => {
    await writeFile(
      join(home, "caisson.yaml"),
      `engine: ${engine}\nmax_storage_mb: 64\nmax_ram_mb: 100\nmax_processes: 30\ncpu_shares: 600\ntimeout_seconds: 0.2\n`,
    );
    const environment = { CAISSON_HOME: home, CAISSON_MAX_PROCESSES: "40", CAISSON_CPU_SHARES: "700" };
    const options = { root, environment, settings: { cpu_shares: 800 } };
    await using sandbox = await createSandbox({ ...options, limits: { cpus: 2 } });
    expect(sandbox.engine).toBe(engine);
    expect(sandbox.limits).toEqual({
      memoryBytes: 100 * MiB,
      processes: 40,
      cpuShares: 800,
      cpus: 2,
      storageBytes: 64 * MiB,
    });
    expect((await sandbox.exec({ command: "sleep 60" })).timed_out).toBe(true);
    const given = await sandbox.exec({ command: "sleep 0.4", limits: { timeoutMs: 0 } });
    expect(given).toMatchObject({ timed_out: false, exit_code: 0 });
  });

  it("[API-06] tells what happens, in order, to all and to those of one sandbox; who throws hurts nobody", async () => {
    const seen: JournalEvent[] = [];
    const own: string[] = [];
    let id: string;
    {
      await using caisson = await open();
      caisson.events.subscribe(() => {
        throw new Error("a broken listener");
      });
      caisson.events.subscribe((event) => seen.push(event));
      await using sandbox = await caisson.createSandbox();
      id = sandbox.id;
      sandbox.events.subscribe((event) => own.push(event.type));
      await sandbox.exec({ command: "true" });
      await sandbox.exec({ command: "exit 3" });
      await sandbox.exec({ command: "sleep 60", limits: { timeoutMs: 200 } });
      await expect(sandbox.exec({ command: ["/no/such/program"] })).rejects.toMatchObject({ code: "not_found" });
    }
    const expected = [
      { type: "execution.started" },
      { type: "execution.completed", data: { exit_code: 0 } },
      { type: "execution.started" },
      { type: "execution.failed", data: { exit_code: 3, error_code: null } },
      { type: "execution.started" },
      { type: "execution.timeout" },
      { type: "execution.started" },
      { type: "execution.failed", data: { exit_code: null, error_code: "not_found" } },
      { type: "sandbox.destroyed" },
    ];
    expect(seen).toMatchObject([{ type: "sandbox.created", data: { engine } }, ...expected]);
    expect(own).toEqual(expected.map(({ type }) => type));
    expect(new Set(seen.map((event) => event.sandbox_id))).toEqual(new Set([id]));
    const runs = seen.flatMap((event) => event.run_id ?? []);
    expect(new Set(runs).size).toBe(4);
  });

  it("[API-06] tells a sandbox that is lost from one that was destroyed", async () => {
    await using caisson = await open();
    await using sandbox = await caisson.createSandbox();
    const events = sandbox.events.stream();
    killProcessesOf(sandbox.id);
    expect(await events.next()).toMatchObject({ value: { type: "sandbox.lost", sandbox_id: sandbox.id } });
  });

  it("[API-06] keeps a sandbox for its next owner, told as events, with the records of its runs", async () => {
    const seen: string[] = [];
    const follow = (event: JournalEvent) => seen.push(event.type);
    let id: string;
    {
      await using sandbox = await createSandbox({ home, root, environment: {}, settings, keep: true });
      sandbox.events.subscribe(follow);
      id = sandbox.id;
      await sandbox.exec({ command: "echo first > file" });
    }
    await expect.poll(helpers, { timeout: 20_000 }).toEqual([]);
    {
      await using caisson = await open();
      caisson.events.subscribe(follow);
      await using sandbox = await caisson.attachSandbox(id);
      expect((await sandbox.exec({ command: "cat file" })).stdout).toBe("first\n");
      expect((await sandbox.runs()).map((record) => record.command)).toEqual(["echo first > file", "cat file"]);
      await sandbox.destroy();
    }
    const run = ["execution.started", "execution.completed"];
    expect(seen).toEqual([...run, "sandbox.detached", "sandbox.attached", ...run, "sandbox.destroyed"]);
  });

  it("[EXE-14] records each run, with its output where a listener took it, and lists them by sandbox", async () => {
    await using caisson = await open();
    let id: string;
    {
      await using sandbox = await caisson.createSandbox();
      await using other = await caisson.createSandbox();
      id = sandbox.id;
      await sandbox.exec({ command: ["sh", "-c", "echo out; echo err >&2; echo x > file; exit 4"] });
      await other.exec({ command: "echo not here" });
      await sandbox.executeCode({
        language: "python",
        code: "print('streamed')",
        onOutput: () => undefined,
      });
      await expect(sandbox.exec({ command: ["/no/such/program"] })).rejects.toThrow();
      expect(await sandbox.runs()).toMatchObject([
        {
          sandbox_id: id,
          engine,
          command: "sh -c 'echo out; echo err >&2; echo x > file; exit 4'",
          language: null,
          exit_code: 4,
          stdout: "out\n",
          stderr: "err\n",
          truncated: false,
          files_changed: [{ path: "file", action: "created", size_bytes: 2 }],
          error: null,
        },
        { command: "print('streamed')", language: "python", exit_code: 0, stdout: "streamed\n" },
        { command: "/no/such/program", exit_code: null, error: { code: "not_found" } },
      ]);
    }
    await using again = await open();
    expect((await again.runs(id)).map((record) => record.exit_code)).toEqual([4, 0, null]);
  });

  it("[EXE-14] records and tells of a context's runs and of background processes as of other runs", async () => {
    await using caisson = await open();
    await using sandbox = await caisson.createSandbox();
    const seen: JournalEvent[] = [];
    sandbox.events.subscribe((event) => seen.push(event));
    await using context = await sandbox.contexts.create({ language: "python" });
    await context.run("print('counted'); n = 1");
    await context.run("print('heard'); n / 0", { onStdout: () => undefined });
    const process = await sandbox.processes.start({ command: ["sh", "-c", "echo out; echo err >&2; exit 5"] });
    await process.wait();
    expect(await sandbox.runs()).toMatchObject([
      { command: "print('counted'); n = 1", language: "python", exit_code: 0, stdout: "counted\n", error: null },
      { exit_code: 1, stdout: "heard\n", stderr: expect.stringContaining("ZeroDivisionError"), truncated: false },
      {
        run_id: process.info().run_id,
        command: "sh -c 'echo out; echo err >&2; exit 5'",
        exit_code: 5,
        stdout: "out\n",
        stderr: "err\n",
      },
    ]);
    expect(seen).toMatchObject([
      { type: "execution.started" },
      { type: "execution.completed", data: { exit_code: 0 } },
      { type: "execution.started" },
      { type: "execution.failed", data: { exit_code: 1 } },
      { type: "execution.started", run_id: process.info().run_id },
      { type: "execution.failed", run_id: process.info().run_id, data: { exit_code: 5 } },
    ]);
  });

  it("[EXE-14] keeps of a flood of output what the cap allows, and as many runs as retention says", async () => {
    const capped = { ...settings, "runs.output_bytes": 100, "runs.keep": 4 };
    await using sandbox = await createSandbox({ home, root, environment: {}, settings: capped });
    await sandbox.exec({ command: "head -c 3000000 /dev/zero | tr '\\0' x", onOutput: () => undefined });
    expect(await sandbox.runs()).toMatchObject([{ stdout: "x".repeat(100), truncated: true }]);
    for (let at = 0; at < 6; at++) await sandbox.exec({ command: `exit ${at}` });
    expect((await sandbox.runs()).map((record) => record.exit_code)).toEqual([2, 3, 4, 5]);
  });

  it("[EXE-14] keeps what the redactor leaves, and nothing where records are off", async () => {
    const redact = (text: string) => text.replaceAll("hunter2", "***");
    await using sandbox = await createSandbox({ home, root, environment: {}, settings, redact });
    const result = await sandbox.exec({ command: "echo hunter2" });
    expect(result.stdout).toBe("hunter2\n");
    expect(await sandbox.runs()).toMatchObject([{ command: "echo ***", stdout: "***\n" }]);
    const off = { ...settings, "runs.record": false };
    await using silent = await createSandbox({ home, root, environment: {}, settings: off });
    await silent.exec({ command: "true" });
    expect(await silent.runs()).toEqual([]);
  });

  it("[API-06] [EXE-09] lists, reads, signs and verifies what a run left in its output folder", async () => {
    await using caisson = await open();
    await using sandbox = await caisson.createSandbox();
    const signed = sandbox.events.stream({ types: ["artifact.signed"] });
    await sandbox.exec({
      command: "mkdir output/sub; printf data > output/sub/b; printf x > output/a; ln -s /etc/passwd output/link",
    });
    const data = {
      path: "sub/b",
      size_bytes: 4,
      sha256: "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7",
    };
    expect(await sandbox.artifacts.list()).toMatchObject([{ path: "a", size_bytes: 1 }, data]);
    expect(await sandbox.artifacts.read("sub/b")).toEqual({ ...data, content_base64: "ZGF0YQ==" });
    await expect(sandbox.artifacts.read("../../../etc/passwd")).rejects.toMatchObject({ code: "invalid" });
    const manifest = await sandbox.artifacts.sign();
    expect(await signed.next()).toMatchObject({ value: { data: { files: 2 } } });
    const { publicKey } = await caisson.signer();
    expect(verifyManifest(JSON.parse(JSON.stringify(manifest)), publicKey)).toEqual(manifest);
    expect(verifyFile(manifest, publicKey, "sub/b", Buffer.from("data"))).toEqual(data);
    expect(() => verifyFile(manifest, publicKey, "sub/b", Buffer.from("dat4"))).toThrow(/differs from the signed file/);
  });
});

describe.each(engines)("a Caisson (%s)", (engine) => {
  it("does not remember that an engine could not be opened", async () => {
    const installation = join(home, "installation");
    const settings = { engine, max_storage_mb: 64 };
    await using caisson = await openCaisson({ home, root: installation, environment: {}, settings });
    await expect(caisson.createSandbox()).rejects.toThrow();
    await symlink(root, installation);
    await using sandbox = await caisson.createSandbox();
    expect((await sandbox.exec({ command: "echo mended" })).stdout).toBe("mended\n");
  });
});

describe("a data folder that takes no records", () => {
  it("[EXE-14] a run whose record cannot be kept has its result, and an event says so", async () => {
    await writeFile(join(home, "runs"), "in the way");
    const settings = { engine: "container", max_storage_mb: 64 } as const;
    await using sandbox = await createSandbox({ home, root, environment: {}, settings });
    const failures = sandbox.events.stream({ types: ["record.failed"] });
    expect((await sandbox.exec({ command: "echo fine" })).stdout).toBe("fine\n");
    expect(await failures.next()).toMatchObject({
      value: { type: "record.failed", data: { reason: expect.stringMatching(/EEXIST/) } },
    });
  });
});
