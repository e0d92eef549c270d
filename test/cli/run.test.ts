import { execFile, spawn } from "node:child_process";
import { statfsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines, root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

/** Where the cap of storage fits, nothing is refused. */
const hugeDisk = statfsSync("/var/tmp").bavail * statfsSync("/var/tmp").bsize > 100 * 1024 ** 3;

let folder: string;
let home: string;
const bundle = join(root, ".build/app/caisson.mjs");

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

function caisson(
  args: string[],
  options: { stdin?: string; env?: Record<string, string>; cwd?: string } = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const env = { ...process.env, CAISSON_HOME: home, ...options.env };
    const child = execFile(
      join(root, "caisson"),
      args,
      { env, cwd: options.cwd ?? folder, maxBuffer: 64 * 1024 ** 2 },
      (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
    );
    child.stdin?.on("error", () => {}); // a command that reads nothing closes it early
    child.stdin?.end(options.stdin ?? "");
  });
}

/** On a machine that lacks a program: hidden by a mount that only this one process sees. */
function caissonWithout(program: string, args: string[]): Promise<Outcome> {
  const hide = `mount --bind /dev/null "$(command -v ${program})" && exec "$@"`;
  const words = ["-m", "sh", "-c", hide, "sh", join(root, ".build/bin/node"), bundle, ...args];
  // Not by the launcher, which would install what is missing.
  const env = { ...process.env, CAISSON_HOME: home, CAISSON_ROOT: root, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  return new Promise((resolve) => {
    execFile("/usr/bin/unshare", words, { env, cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
    ).stdin?.end();
  });
}

/** What a terminal gets to see. */
function onTerminal(command: string, env: Record<string, string> = {}): Promise<string> {
  const { NO_COLOR: _, ...plain } = process.env;
  const options = { env: { ...plain, CAISSON_HOME: home, ...env }, cwd: folder };
  return new Promise((resolve) => {
    const words = ["-qec", `${join(root, "caisson")} ${command}`, "/dev/null"];
    execFile("/usr/bin/script", words, options, (_error, stdout) => resolve(stdout)).stdin?.end();
  });
}

beforeAll(async () => {
  folder = await mkdtemp("/var/tmp/caisson-cli-");
  home = join(folder, "home");
});
afterAll(async () => {
  expect(findLeaks(home)).toEqual([]);
  await rm(folder, { recursive: true });
});

describe.each(engines)("caisson run (%s)", (engine) => {
  it.each(["hello.py", "hello.js", "hello.sh"])("[CLI-02] runs examples/%s with no daemon", async (file) => {
    const { code, stdout, stderr } = await caisson(["run", "--engine", engine, join(root, "examples", file)]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/uid 1000/);
  });

  it("[CLI-02] passes arguments, input, output and the exit code", async () => {
    await writeFile(
      join(folder, "echo.py"),
      "import sys\nprint(sys.argv[1:], sys.stdin.read())\nprint('bad', file=sys.stderr)\nsys.exit(7)",
    );
    const outcome = await caisson(["run", "--engine", engine, "echo.py", "a b", "--own"], { stdin: "typed" });
    expect(outcome).toEqual({ code: 7, stdout: "['a b', '--own'] typed\n", stderr: "bad\n" });
  });

  it("[CLI-03] prints one JSON document with --json", async () => {
    const { code, stdout } = await caisson(["run", "-", "--language", "python", "--json", "--engine", engine], {
      stdin: "print(6*7)\nopen('f','w').write('x')",
    });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      exit_code: 0,
      stdout: "42\n",
      stderr: "",
      duration_ms: expect.any(Number),
      files_changed: [{ path: "f", action: "created", size_bytes: 1, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
      engine,
      enforced: expect.arrayContaining(["user_namespace", "network_namespace", "seccomp", "memory", "storage"]),
      not_enforced: [],
      timed_out: false,
      truncated: false,
      oom_killed: false,
    });
  });

  it("[CLI-05] exit codes: 124 for a time-out, 137 out of memory, the shell's way for a signal", async () => {
    await writeFile(join(folder, "sleep.sh"), "sleep 60");
    await writeFile(join(folder, "bomb.py"), "a=[]\nwhile True: a.append(bytearray(1<<20))");
    await writeFile(join(folder, "signal.sh"), "kill -ABRT $$");
    expect(await caisson(["run", "--engine", engine, "--timeout", "0.5", "sleep.sh"])).toMatchObject({
      code: 124,
      stderr: expect.stringMatching(/0.5 s/),
    });
    expect(await caisson(["run", "--engine", engine, "--memory", "64", "bomb.py"])).toMatchObject({
      code: 137,
      stderr: expect.stringMatching(/memory/),
    });
    expect(await caisson(["run", "--engine", engine, "signal.sh"])).toMatchObject({ code: 134 });
  });

  it("[SBX-06] --input is there to read and not to write; --output comes back", async () => {
    await mkdir(join(folder, "in/deep"), { recursive: true });
    await writeFile(join(folder, "in/deep/data.txt"), "from the host");
    const script =
      "cat input/deep/data.txt\necho x > input/new 2>/dev/null || echo read-only\nchmod u+w input 2>/dev/null; touch input/y 2>/dev/null || echo still\nmkdir output/sub; echo result > output/sub/r.txt; ln -s /etc/passwd output/link";
    await writeFile(join(folder, "roles.sh"), script);
    const outcome = await caisson(["run", "--engine", engine, "--input", "in:ro", "--output", "out", "roles.sh"]);
    expect(outcome.stdout).toBe("from the hostread-only\nstill\n");
    expect(outcome.stderr).toMatch(/not copied: link/);
    expect(await readFile(join(folder, "out/sub/r.txt"), "utf8")).toBe("result\n");
    expect(await readdir(join(folder, "out"))).toEqual(["sub"]);
    await rm(join(folder, "out"), { recursive: true });
  });

  it("[CLI-02] Ctrl-C ends the run, and the sandbox with it", async () => {
    await writeFile(
      join(folder, "trap.sh"),
      "trap 'echo stopped; exit 3' INT\necho ready\nwhile :; do sleep 0.1; done",
    );
    const child = spawn(join(root, "caisson"), ["run", "--engine", engine, "trap.sh"], {
      cwd: folder,
      env: { ...process.env, CAISSON_HOME: home },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output === "ready\n") child.kill("SIGINT");
    });
    expect(await ended).toBe(130);
    expect(output).toBe("ready\nstopped\n");
    expect(findLeaks(home)).toEqual([]);
  });
});

describe("bad use", () => {
  /** One clear line and a hint, no stack trace, a documented code, and nothing left behind. */
  function expectClear(outcome: Outcome, code: number, message: RegExp): void {
    expect(outcome.stderr).toMatch(message);
    expect(outcome.stderr).not.toMatch(/ {4}at |node:|Error:/);
    expect(outcome.stderr.trim().split("\n").length).toBeLessThanOrEqual(2);
    expect(outcome.stderr).toMatch(/^caisson: /);
    expect(outcome).toMatchObject({ code, stdout: "" });
  }

  beforeAll(async () => {
    await writeFile(join(folder, "ok.py"), "print(1)");
    await writeFile(join(folder, "binary.py"), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1]));
    await mkdir(join(folder, "is-a-folder.py"), { recursive: true });
  });

  it.each([
    ["an unknown option", ["run", "--nope", "ok.py"], 2, /unknown option '--nope'[\s\S]*hint/],
    ["an unknown command", ["fly"], 2, /unknown command 'fly'[\s\S]*hint: caisson --help/],
    ["a command mistyped", ["stauts"], 2, /unknown command 'stauts'[\s\S]*did you mean caisson status\?/],
    [
      "a daemon's command mistyped",
      ["egres", "explain"],
      2,
      /unknown command 'egres'[\s\S]*did you mean caisson egress\?/,
    ],
    [
      "a word of a command mistyped",
      ["keys", "craete"],
      2,
      /unknown command 'keys craete'[\s\S]*did you mean caisson keys create\?/,
    ],
    ["no file", ["run"], 2, /missing FILE[\s\S]*hint/],
    ["a missing file", ["run", "missing.py"], 2, /missing.py.*no such file/],
    ["a folder", ["run", "is-a-folder.py"], 2, /folder/],
    ["a binary file", ["run", "binary.py"], 2, /binary file[\s\S]*hint/],
    ["an unknown engine", ["run", "--engine", "kvm", "ok.py"], 2, /unknown engine 'kvm'[\s\S]*hint/],
    ["memory past its cap", ["run", "--memory", "9G", "ok.py"], 2, /exceeds the maximum of 8 GB/],
    ["a time-out past its cap", ["run", "--timeout", "4000", "ok.py"], 2, /exceeds the maximum of 3600 s/],
    ["a size that is none", ["run", "--memory", "big", "ok.py"], 2, /not a size[\s\S]*hint/],
    ["an input folder that is not there", ["run", "--input", "nowhere", "ok.py"], 2, /nowhere/],
  ])("[CLI-03] [CLI-05] %s gives one clear line, and the code for it", async (_what, args, code, message) => {
    expectClear(await caisson(args), code, message);
    expect(findLeaks(home)).toEqual([]);
  });

  it("[CLI-03] [CLI-05] a runtime that is not installed is named, with what to do", async () => {
    const outcome = await caisson(["run", "--engine", "gvisor", "ok.py"], { env: { CAISSON_RUNSC: "/nowhere/runsc" } });
    expectClear(outcome, 125, /runsc[\s\S]*hint/);
  });

  it.skipIf(hugeDisk)("[SBX-10] more storage than the disk has is refused before anything is made", async () => {
    expectClear(await caisson(["run", "--storage", "100G", "ok.py"]), 125, /disk[\s\S]*hint/);
    expect(findLeaks(home)).toEqual([]);
  });

  it("[CLI-03] a data folder that cannot be written is named", async () => {
    await writeFile(join(folder, "file"), "");
    expectClear(await caisson(["run", "ok.py"], { env: { CAISSON_HOME: join(folder, "file") } }), 125, /file/);
  });

  it("[SBX-06] an input folder with a socket or a device is refused (hazard 18)", async () => {
    const odd = join(folder, "odd");
    await mkdir(odd, { recursive: true });
    const server = createServer().listen(join(odd, "socket"));
    await new Promise((resolve) => server.on("listening", resolve));
    expectClear(await caisson(["run", "--input", "odd", "ok.py"]), 2, /socket/);
    await new Promise((resolve) => server.close(resolve));
    await symlink("/etc/passwd", join(odd, "link"));
    expectClear(await caisson(["run", "--input", "odd", "ok.py"]), 2, /link/);
  });

  it("[CLI-03] is told in colour on a terminal, and without where NO_COLOR is set or nobody looks", async () => {
    const red = "\x1b[31mcaisson:\x1b[0m";
    expect(await onTerminal("fly")).toContain(red);
    const plain = await onTerminal("fly", { NO_COLOR: "1" });
    expect(plain).toContain("caisson: unknown command 'fly'");
    expect(plain).not.toContain("\x1b[");
    expect((await caisson(["fly"])).stderr).not.toContain("\x1b[");
  });

  it("[CLI-03] a full disk on our side of --output is told, and the sandbox is gone", async () => {
    const full = join(folder, "full");
    await mkdir(full);
    await promisify(execFile)("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", full]);
    try {
      await writeFile(join(folder, "out.sh"), "head -c 1000000 /dev/zero > output/big");
      expectClear(await caisson(["run", "--engine", "container", "--output", full, "out.sh"]), 125, /output.*ENOSPC/);
      expect(await readdir(full)).toEqual([]);
    } finally {
      await promisify(execFile)("umount", [full]);
    }
    expect(findLeaks(home)).toEqual([]);
  });

  it("[CLI-03] output that is larger here than it was there is cut off (sparse files)", async () => {
    await writeFile(join(folder, "sparse.sh"), "truncate -s 1G output/zero");
    const outcome = await caisson([
      "run",
      "--engine",
      "container",
      "--storage",
      "16M",
      "--output",
      "sparse-out",
      "sparse.sh",
    ]);
    expectClear(outcome, 125, /larger than the workspace[\s\S]*hint/);
    expect(await readdir(join(folder, "sparse-out"))).toEqual([]);
  });

  it("[CLI-05] a reader of ours that goes away ends the run, and the sandbox with it", async () => {
    await writeFile(join(folder, "endless.sh"), "while :; do echo line; done");
    const command = `${join(root, "caisson")} run --engine container endless.sh | head -1; echo \${PIPESTATUS[0]}`;
    const env = { ...process.env, CAISSON_HOME: home };
    const { stdout } = await promisify(execFile)("bash", ["-c", command], { cwd: folder, env });
    expect(stdout).toBe("line\n141\n");
    expect(findLeaks(home)).toEqual([]);
  });
});

describe("help", () => {
  it("[CLI-03] is there for the program and for run; completion for three shells", async () => {
    expect((await caisson(["--help"])).stdout).toMatch(/run[\s\S]*doctor/);
    const { stdout } = await caisson(["run", "--help"]);
    for (const option of [
      "--engine",
      "--memory",
      "--cpus",
      "--timeout",
      "--processes",
      "--storage",
      "--env",
      "--input",
      "--output",
      "--json",
    ])
      expect(stdout).toContain(option);
    for (const shell of ["bash", "zsh", "fish"])
      expect((await caisson(["completion", shell])).stdout).toMatch(/caisson/);
  });

  it("[CLI-03] the bash completion script is valid and completes commands", async () => {
    const { stdout } = await caisson(["completion", "bash"]);
    await writeFile(join(folder, "complete.bash"), stdout);
    const script = `source ${folder}/complete.bash; COMP_WORDS=(caisson do); COMP_CWORD=1; _caisson; echo "\${COMPREPLY[@]}"`;
    const found = await new Promise((resolve) => execFile("bash", ["-c", script], (_error, out) => resolve(out)));
    expect(found).toBe("down doctor\n");
  });

  it.each(["run", "shell", "runs", "doctor", "config", "completion"])(
    "[CLI-03] %s is listed, completed, and has help of its own",
    async (command) => {
      expect((await caisson(["--help"])).stdout).toMatch(new RegExp(`^  ${command} `, "m"));
      expect((await caisson(["completion", "fish"])).stdout).toContain(` -a ${command} `);
      const { code, stdout } = await caisson([command, "--help"]);
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`^usage: caisson ${command} `));
      expect((await caisson(["help", command])).stdout).toBe(stdout);
    },
  );

  it.each([
    ["config", "extra"],
    ["doctor", "extra"],
    ["completion", "tcsh"],
  ])("[CLI-03] refuses what it does not expect: %s %s", async (...args) => {
    const { code, stderr } = await caisson(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/'(extra|tcsh)'.*\n {2}hint: /);
  });

  it("[CLI-04] doctor tries each engine, tells the chosen one, and has a JSON form", async () => {
    const { code, stdout } = await caisson(["doctor", "--json"]);
    expect(code).toBe(0);
    const diagnosis = JSON.parse(stdout);
    expect(diagnosis.chosen).toBe("gvisor");
    expect(diagnosis.engines.map((probe: { engine: string; usable: boolean }) => [probe.engine, probe.usable])).toEqual(
      [
        ["gvisor", true],
        ["container", true],
      ],
    );
    const names = diagnosis.checks.map((check: { name: string }) => check.name);
    expect(names).toEqual(expect.arrayContaining(["user namespaces", "cgroups", "disk", "loop devices", "node"]));
    const pinned = /gvisor v0\.0\.0-(\d{8})\d*(-\w+)/.exec(await readFile(join(root, "native/gvisor/go.mod"), "utf8"));
    const release = `runsc version ${pinned?.[1]}${pinned?.[2]}\\+\\d+`;
    const at = RegExp.escape(join(root, ".build/bin/runsc"));
    expect((await caisson(["doctor"])).stdout).toMatch(new RegExp(`engine gvisor +${release} \\(${at}\\)`));
  });
});

describe("a machine that lacks something", () => {
  it.each(engines)("[SBX-14] without mkfs.ext4 a run on %s says that its storage is not limited", async (engine) => {
    await writeFile(join(folder, "ok.py"), "print(1)");
    const args = ["run", "--json", "--engine", engine, "ok.py"];
    expect((await caisson(args)).code).toBe(0); // by the launcher, which bundles what the next line runs
    const result = JSON.parse((await caissonWithout("mkfs.ext4", args)).stdout);
    expect(result).toMatchObject({ exit_code: 0, stdout: "1\n" });
    expect(result.not_enforced).toEqual([{ what: "storage", why: expect.stringMatching(/mkfs.ext4/) }]);
    expect(result.enforced).not.toContain("storage");
    expect(result.enforced).toContain("memory");
  });

  it("[SBX-14] [CLI-04] doctor says so as well, and what to do", async () => {
    const { checks } = JSON.parse((await caissonWithout("mkfs.ext4", ["doctor", "--json"])).stdout);
    expect(checks.find((check: { name: string }) => check.name === "loop devices")).toMatchObject({
      state: "warning",
      detail: expect.stringMatching(/not enforced/),
      hint: expect.stringMatching(/e2fsprogs/),
    });
  });

  it("[CLI-04] doctor says of a gVisor that is too old that set-up builds a current one", async () => {
    // What releases before systrap say to it, in the log that they are told to write.
    const old = join(folder, "old-runsc");
    const answer = '{"msg":"unknown platform: systrap","level":"error"}';
    await writeFile(old, `#!/bin/sh\necho '${answer}' >/run/caisson/log/runtime.log\nexit 128\n`, { mode: 0o755 });
    const { stdout } = await caisson(["doctor", "--json"], { env: { CAISSON_RUNSC: old } });
    const hint = `${old} is too old: ./caisson --setup builds a current one`;
    expect(JSON.parse(stdout).engines[0]).toMatchObject({ usable: false, hint: expect.stringContaining(hint) });
  });

  it("[CLI-04] doctor tells a runtime that starts nothing from one that works, with a hint", async () => {
    const env = { CAISSON_RUNSC: "/bin/true" };
    const diagnosis = JSON.parse((await caisson(["doctor", "--json"], { env })).stdout);
    expect(diagnosis).toMatchObject({
      chosen: "container",
      engines: [
        { engine: "gvisor", usable: false, hint: expect.stringMatching(/\w/) },
        { engine: "container", usable: true, detail: expect.stringMatching(/\d+\.\d+/) },
      ],
    });
    const none = await caisson(["doctor"], { env: { ...env, CAISSON_RUNC: "/bin/true" } });
    expect(none).toMatchObject({ code: 125, stdout: expect.stringMatching(/No engine works on this machine/) });
  });
});
