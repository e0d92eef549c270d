import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../daemon/up.ts";
import { root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

let folder: string;
let port: number;

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

const program = join(root, "caisson");

function caisson(args: string[], input?: string, variables?: Record<string, string>): Promise<Outcome> {
  return run(program, args, input, variables);
}

function run(program: string, args: string[], input = "", variables: Record<string, string> = {}): Promise<Outcome> {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("CAISSON_"));
  const own = { CAISSON_HOME: join(folder, "home"), CAISSON_PORT: String(port), CAISSON_ENGINE: "container" };
  const env = { ...Object.fromEntries(others), ...own, ...variables };
  return new Promise((resolve) => {
    execFile(program, args, { env, cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
    ).stdin?.end(input);
  });
}

/** What a command printed, which had to succeed. */
async function said(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await caisson(args);
  expect(`${code} ${stderr}`, args.join(" ")).toBe("0 ");
  return stdout.trim();
}

describe("the command line of a daemon", () => {
  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-client-");
    await mkdir(join(folder, "home"));
    await writeFile(join(folder, "home/caisson.yaml"), "pool:\n  size: 0\npolicy:\n  commands_ask: [touch asked*]\n");
    port = await freePort();
    const { code, stderr } = await caisson(["up", "--detach"]);
    expect(`${code} ${stderr}`).toBe("0 ");
  });
  afterAll(async () => {
    const { stdout } = await caisson(["ls", "--json"]);
    const left: { id: string }[] = JSON.parse(stdout || "[]");
    if (left.length > 0) await caisson(["rm", ...left.map(({ id }) => id)]);
    await caisson(["down"]);
    await vi.waitFor(() => expect(findLeaks(join(folder, "home"))).toEqual([]), 20_000);
    await rm(folder, { recursive: true });
  });

  it("[CLI-01] makes a sandbox, runs in it, and takes its exit code and streams over", async () => {
    const id = await said("create", "--memory", "256M", "--label", "made=here");
    expect(JSON.parse(await said("inspect", id, "--json"))).toMatchObject({ memory_mb: 256, labels: { made: "here" } });
    const run = await caisson(["exec", "--env", "NAME=value", id, 'echo "$NAME"; echo oops >&2; exit 7']);
    expect(run).toEqual({ code: 7, stdout: "value\n", stderr: "oops\n" });
    expect((await caisson(["exec", "--input", id, "cat"], "typed")).stdout).toBe("typed");
    expect(await said("exec", "--language", "python", id, "print(6*7)")).toBe("42");
    expect(await caisson(["exec", "--timeout", "0.2", id, "sleep 100"])).toMatchObject({
      code: 124,
      stderr: expect.stringMatching(/^caisson: ended after 0\.\d+ s by its time limit \(--timeout\)\n$/),
    });
    expect((await caisson(["exec", id, "curl -s http://other.example.com/ >/dev/null"])).stderr).toBe(
      "caisson: other.example.com:80 was refused: no rule allows other.example.com (--allow-domain other.example.com:80)\n",
    );
    const json = JSON.parse(await said("exec", "--json", id, "echo x >file"));
    expect(json.files_changed).toMatchObject([{ path: "file", action: "created" }]);
    expect(await said("ls")).toContain(id);
    await said("rm", id);
    expect(await said("ls")).not.toContain(id);
  });

  it("[CLI-01] [EXE-14] lists runs of a sandbox, destroyed or not, beside those that caisson run left here", async () => {
    const id = await said("create");
    await caisson(["exec", id, "echo first; exit 3"]);
    await said("exec", id, "echo second");
    await writeFile(join(folder, "here.sh"), "echo here");
    await said("run", "here.sh");
    expect(await said("runs", id)).toMatch(new RegExp(`${id} +3 .*echo first.*\\n.*${id} +0 .*echo second.*$`));
    expect(await said("runs")).toMatch(/ echo second\n.* here\.sh$/);
    await said("rm", id);
    const kept: { command: string; stdout: string }[] = JSON.parse(await said("runs", id, "--json"));
    expect(kept.map(({ command, stdout }) => [command, stdout])).toEqual([
      ["echo first; exit 3", "first\n"],
      ["echo second", "second\n"],
    ]);
    const address = { CAISSON_URL: `http://127.0.0.1:${port}` };
    const key = (name: string) => said("keys", "create", name, "--role", "viewer", "--namespace", name);
    const own = { ...address, CAISSON_API_KEY: await key("default"), CAISSON_HOME: join(folder, "nowhere") };
    expect(JSON.parse((await caisson(["runs", id, "--json"], "", own)).stdout)).toEqual(kept);
    expect((await caisson(["runs"], "", own)).stdout).not.toContain("here.sh");
    const other = { ...own, CAISSON_API_KEY: await key("other") };
    expect(await caisson(["runs", id], "", other)).toMatchObject({ code: 2, stdout: "" });
    expect(await caisson(["runs", id, "--namespace", "other"])).toMatchObject({ code: 2, stdout: "" });
  });

  it("[CLI-01] approves a domain, explains what would happen, and takes the rule back", async () => {
    expect(await said("egress", "api.example.com", "--namespace", "default")).toMatch(
      /namespace +allow +api\.example\.com/,
    );
    const id = await said("create", "--allow-domain", "own.example.com:8443/tls", "--deny-domain", "*.evil.example");
    const listed = await said("egress", "list", "--sandbox", id);
    for (const row of [
      /namespace +allow +api\.example/,
      /sandbox +allow +own\.example\.com:8443/,
      /sandbox +deny +\*\.evil/,
    ])
      expect(listed).toMatch(row);
    expect(await said("egress", "explain", "api.example.com:443", "--sandbox", id)).toContain(
      "allow api.example.com:443: rule api.example.com of the namespace",
    );
    expect(await said("egress", "explain", "api.example.com:80")).toContain("only on 443");
    await said("egress", "--sandbox", id, "--range", "10.0.0.0/8", "--inspect", "--method", "GET", "intra.example.com");
    expect(await said("egress", "list", "--sandbox", id)).toMatch(/intra\.example\.com +10\.0\.0\.0\/8 inspect GET/);
    const bare = await caisson(["egress", "add", "foo"]);
    expect(bare).toMatchObject({ code: 2, stdout: "" });
    expect(bare.stderr).toMatch(/'foo' has no dot[\s\S]*hint: .*api\.example\.com, or add --yes\n/);
    expect(await said("egress", "list")).not.toContain("foo");
    expect(await said("egress", "add", "foo", "--yes")).toMatch(/allow +foo/);
    await said("egress", "remove", "foo");
    expect(await said("egress", "list")).not.toContain("foo");
    await said("egress", "rm", "api.example.com");
    expect(JSON.parse(await said("egress", "explain", "api.example.com", "--json"))).toMatchObject({ action: "deny" });
    const set = await said(
      "egress",
      "set",
      "--allow",
      "a.example.com",
      "--agents",
      "*.example.com",
      "--unknown",
      "ask",
    );
    expect(set).toMatch(/agents may allow +\*\.example\.com/);
    expect(JSON.parse(await said("egress", "log", "--sandbox", id, "--json"))).toEqual([]);
    const refused = await caisson(["egress", "*.com"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("names of many owners");
    await said("egress", "set");
    await said("rm", id);
  });

  it("[CLI-01] stops a sandbox and starts it again with its files, pauses, resumes and resets it", async () => {
    const id = await said("create");
    await said("exec", id, "echo kept >file");
    expect(await said("stop", id)).toBe("stopped");
    expect(await said("start", id)).toBe("running");
    expect(await said("files", "cat", id, "file")).toBe("kept");
    expect(await said("pause", id)).toBe("paused");
    expect(await said("resume", id)).toBe("running");
    expect(await said("reset", id)).toBe("running");
    expect(JSON.parse(await said("files", "ls", id, "--json"))).toMatchObject([{ name: "output" }]);
    await said("rm", id);
  });

  it("[CLI-01] lists and fetches what a destroyed sandbox left", async () => {
    const id = await said("create", "--keep-artifacts", "600");
    await said("exec", id, "echo kept >output/file");
    await said("rm", id);
    expect(await said("artifacts", "list")).toContain(id);
    expect(await said("artifacts", "files", id)).toContain("file");
    expect(await said("artifacts", "get", id, "file")).toBe("kept");
    await said("artifacts", "rm", id);
    expect(JSON.parse(await said("artifacts", "list", "--json"))).toEqual([]);
  });

  it("[CLI-01] copies files and folders in and out, and lets no link out of a sandbox write here", async () => {
    const id = await said("create");
    await mkdir(join(folder, "tree/deep"), { recursive: true });
    await writeFile(join(folder, "tree/deep/file"), "content");
    await said("cp", "tree", `${id}:`);
    expect(await said("files", "cat", id, "tree/deep/file")).toBe("content");
    await said("exec", id, "ln -s /etc/passwd tree/link; mkdir tree/a; echo out >tree/a/new");
    await mkdir(join(folder, "elsewhere"));
    await mkdir(join(folder, "back"));
    await symlink(join(folder, "elsewhere"), join(folder, "back/a"));
    expect(await caisson(["cp", `${id}:tree`, "back"])).toMatchObject({ code: 125, stdout: "" });
    await rm(join(folder, "back"), { recursive: true });
    const copied = await caisson(["cp", `${id}:tree`, "back"]);
    expect(copied).toMatchObject({ code: 0, stderr: expect.stringContaining("link: it is a link") });
    expect(await readFile(join(folder, "back/deep/file"), "utf8")).toBe("content");
    expect(await readFile(join(folder, "back/a/new"), "utf8")).toBe("out\n");
    await said("cp", "tree/deep/file", `${id}:/tmp/`);
    expect(await said("files", "cat", id, "/tmp/file")).toBe("content");
    await said("cp", "tree", `${id}:/home/user`);
    expect(await said("exec", id, "cat /home/user/tree/deep/file")).toBe("content");
    await said("cp", `${id}:/home/user/tree`, "home");
    expect(await readFile(join(folder, "home/deep/file"), "utf8")).toBe("content");
    await said("cp", `${id}:tree/a/new`, "one");
    expect(await readFile(join(folder, "one"), "utf8")).toBe("out\n");
    await said("rm", id);
  });

  it("[CLI-01] follows background processes and lists them", async () => {
    const id = await said("create");
    const process = await said("ps", "start", id, "echo working; exit 3");
    expect(await caisson(["logs", id, process])).toEqual({ code: 3, stdout: "working\n", stderr: "" });
    expect(await said("ps", id)).toMatch(new RegExp(`${process}\\s+exited\\s+3`));
    const sleeper = await said("ps", "start", id, "sleep", "1000");
    await said("kill", id, sleeper);
    expect(JSON.parse(await said("ps", id, "--json"))).toMatchObject([{}, { id: sleeper, state: "exited" }]);
    await said("rm", id);
  });

  it("[CLI-01] takes snapshots and restores them, stores skills and installs them", async () => {
    const id = await said("create");
    await said("exec", id, "echo before >file");
    const snapshot = await said("snapshot", "create", id, "first");
    await said("exec", id, "echo after >file; touch extra");
    expect(await said("snapshot", "diff", id, snapshot)).toMatch(/created.*extra\nmodified.*file/s);
    expect(await said("snapshot", "files", snapshot)).toMatch(/^file +0644 +\d+ .* file$/m);
    expect(await said("snapshot", "read", snapshot, "file")).not.toBe(await said("exec", id, "cat file"));
    await said("snapshot", "restore", id, snapshot);
    expect(await said("snapshot", "read", snapshot, "file")).toBe(await said("exec", id, "cat file"));
    expect(await said("exec", id, "cat file; ls")).toBe("before\nfile\noutput");
    expect(await said("snapshot", "list", id)).toContain(snapshot);
    await mkdir(join(folder, "skill/data"), { recursive: true });
    await writeFile(join(folder, "skill/SKILL.md"), "---\nname: counter\ndescription: counts\n---\nCount.\n");
    await writeFile(join(folder, "skill/data/empty"), "");
    const skill = await said("skill", "add", "skill");
    expect(await said("skill", "list")).toMatch(new RegExp(`${skill}\\s+counter`));
    expect(await said("skill", "install", id, skill)).toBe("counter: installed");
    expect(await said("skill", "install", id, skill)).toBe("counter: already installed");
    expect(await said("files", "cat", id, "skills/counter/SKILL.md")).toContain("Count.");
    await writeFile(
      join(folder, "skill/SKILL.md"),
      "---\nname: counter\nversion: 2.0\ndescription: counts\n---\nTwice.\n",
    );
    expect(await said("skill", "install", id, "./skill")).toBe("counter: installed");
    expect(await said("skill", "install", id, "counter@2.0")).toBe("counter: already installed");
    expect(await said("skill", "list", id)).toMatch(/counter +2\.0 +\/workspace\/skills\/counter +counts/);
    expect(await said("skill", "show", "counter@2.0")).toMatch(
      /^counter@2\.0 sha256:[0-9a-f]{64}\ncounts\n.*data\/empty/s,
    );
    expect(await said("skill", "read", "counter@2.0")).toContain("Twice.");
    expect(await said("skill", "read", skill)).toContain("Count.");
    await said("snapshot", "rm", snapshot);
    await said("skill", "rm", skill);
    await said("skill", "rm", "counter");
    expect(JSON.parse(await said("gc", "--dry-run", "--json"))).toMatchObject({ dry_run: true, trigger: "asked" });
    expect(await said("gc")).toMatch(
      /^KIND .*DELETED.*\nblobs .*\ndownloads .*\nimages .*\ncheckpoints .*\nlayers .*\ndisk usage before: \d/s,
    );
    await said("rm", id);
  });

  it("ends when nobody reads its output any more", async () => {
    const id = await said("create");
    let ended = false;
    const line = '"$0" events --after 0 | head -n 1 | wc -l';
    const followed = run("/bin/sh", ["-c", line, program]).finally(() => {
      ended = true;
    });
    while (!ended) await said("exec", id, "true"); // which is an event
    expect(await followed).toEqual({ code: 0, stdout: "1\n", stderr: "" });
    await said("rm", id);
  });

  it("[CLI-01] makes and revokes keys, which are good for what their role may", async () => {
    const key = await said("keys", "create", "ci", "--role", "viewer");
    const address = { CAISSON_URL: `http://127.0.0.1:${port}`, CAISSON_API_KEY: key };
    expect((await caisson(["ls", "--json"], "", address)).code).toBe(0);
    expect(await caisson(["create"], "", address)).toMatchObject({
      code: 125,
      stderr: expect.stringContaining("hint: use a key with the role agent"),
    });
    const keys: { id: string; name: string }[] = JSON.parse(await said("keys", "list", "--json"));
    const id = keys.find(({ name }) => name === "ci")?.id ?? "";
    await said("keys", "revoke", id);
    expect((await caisson(["ls"], "", address)).code).toBe(125);
  });

  it("[CLI-01] shows sessions, queue, pool, statistics and limits", async () => {
    const id = await said("create", "--session", "abc");
    expect(await said("create", "--session", "abc")).toBe(id);
    expect(await said("session", "list")).toMatch(new RegExp(`abc\\s+${id}\\s+running`));
    expect(JSON.parse(await said("queue", "status", "--json"))).toMatchObject({ running: 0, waiting: 0, jobs: [] });
    expect(await said("queue", "status", "--priority", "5")).toMatch(/RUNNING\s+WAITING/);
    expect((await caisson(["queue", "cancel", "0123"])).stderr).toContain("unknown waiting job");
    expect(JSON.parse(await said("stats", "--json")).sandboxes.running).toBe(1);
    expect(JSON.parse(await said("stats", id, "--json")).processes).toBeGreaterThan(0);
    expect(JSON.parse(await said("limits", "--json")).memory_bytes.max).toBe(8 * 1024 ** 3);
    expect(JSON.parse(await said("pool", "--json"))).toEqual(expect.any(Array));
    await said("session", "kill", "--id", "abc");
    expect((await caisson(["session", "kill", "--id", "abc"])).code).toBe(1);
  });

  it("[CLI-01] verifies a file by its hash without a daemon, and by a manifest that the daemon signed", async () => {
    await said("tool", "write_file", "path=output/rows.csv", "content=a,b");
    const manifest = await said("artifacts", "default", "--json");
    const [file, signed] = [join(folder, "rows.csv"), join(folder, "manifest.json")];
    await writeFile(signed, manifest);
    await writeFile(file, "a,b");
    const { sha256 } = JSON.parse(manifest).files[0];
    const nobody = { CAISSON_HOME: join(folder, "nowhere") };
    expect(await caisson(["verify", file, sha256], "", nobody)).toMatchObject({ code: 0 });
    expect(await said("verify", file, signed)).toContain(": matches");
    await writeFile(file, "a,c");
    expect(await caisson(["verify", file, sha256.slice(0, 12)], "", nobody)).toMatchObject({ code: 1 });
    const changed = await caisson(["verify", file, signed, "--json"]);
    expect(changed.code).toBe(1);
    expect(JSON.parse(changed.stdout)).toMatchObject({ valid: false, reason: expect.stringContaining("differs from") });
    await said("session", "kill", "--id", "default");
  });

  it("[CLI-01] lists questions, shows them without obeying them, answers and waits for the answer", async () => {
    const id = await said("create");
    const question = await said(
      "approvals",
      "request",
      "api.example.com:8443",
      "--sandbox",
      id,
      "--purpose",
      "a\x1b[2Jb\nid: x",
    );
    expect(await said("approvals")).toMatch(
      new RegExp(`${question}\\s+pending\\s+egress\\s+${id}.*api.example.com:8443`),
    );
    const shown = await said("approvals", "show", question);
    expect(shown).toContain("purpose:\n  | a\\u{1b}[2Jb\n  | id: x");
    const waiting = caisson(["approvals", "wait", question]);
    expect(await said("approvals", "approve", question, "--scope", "sandbox")).toBe(
      "approved (sandbox): api.example.com:8443",
    );
    expect(await waiting).toEqual({ code: 0, stdout: "approved\n", stderr: "" });
    expect(await said("approvals", "list", "--all")).toContain(question);
    const running = caisson(["exec", id, "touch asked"]);
    const [asked] = await vi.waitFor(async () => {
      const found: { id: string }[] = JSON.parse(await said("approvals", "list", "--sandbox", id, "--json"));
      expect(found.length).toBe(1);
      return found;
    }, 30_000);
    expect(await said("approvals", "deny", asked?.id ?? "", "--reason", "no")).toBe("denied (once): touch asked");
    expect(await running).toMatchObject({ code: 125, stderr: expect.stringContaining("denied by a human: no") });
    await said("rm", id);
  }, 180_000);

  it("[CLI-01] checks code without running it", async () => {
    const write = (name: string, text: string | Uint8Array) => writeFile(join(folder, name), text);
    await write("script.py", "print(json.dumps(eval('1')))\n");
    await write("app.js", "const a = ;\n");
    await write("deploy.sh", "echo ok\n");
    await write("odd.py", Uint8Array.of(0x78, 0xff));
    await write("code", "print(1)\n");
    const lines = [
      "script.py:1:7: warning missing-import: json is not imported (import json)",
      "script.py:1:18: danger dynamic-code: eval runs code that a reader does not see",
    ];
    expect(await said("validate", "script.py")).toBe(lines.join("\n"));
    expect(await caisson(["validate", "--strict", "script.py"])).toMatchObject({ code: 1, stderr: "" });
    const told = JSON.parse(await said("validate", "script.py", "--json"));
    expect(told).toMatchObject({ valid: true, fixed_code: "import json\nprint(json.dumps(eval('1')))\n" });
    expect(await caisson(["validate", "app.js", "--language", "node", "--no-auto-fix"])).toEqual({
      code: 1,
      stdout: "app.js:1:11: error syntax: Unexpected token\n",
      stderr: "",
    });
    expect(await said("validate", "deploy.sh")).toBe("");
    expect(await said("validate", "code", "--language", "python")).toBe("");
    for (const file of ["code", "odd.py", "nosuch.py"]) {
      const { code, stderr } = await caisson(["validate", file]);
      expect(`${code} ${stderr}`).toMatch(
        /^2 caisson: (unknown language of '\S+'|'\S+' is not UTF-8 text|cannot read '\S+' \(ENOENT\))\n/,
      );
    }
    const csv = ["csv_content=a\nx\n", 'type_constraints={"a": "int"}'];
    expect(JSON.parse(await said("tool", "validate_csv_data", ...csv))).toMatchObject({ valid: false, error_count: 1 });
  });

  it("[CLI-03] explains itself, and tells what is wrong in one line with a hint", async () => {
    expect(await said("exec", "--help")).toContain("usage: caisson exec [OPTIONS] SANDBOX COMMAND");
    expect(await said("help", "keys", "create")).toContain("usage: caisson keys create");
    expect(await caisson(["exec", "onlyone"])).toMatchObject({
      code: 2,
      stderr: "caisson: missing COMMAND\n  hint: caisson exec SANDBOX COMMAND [ARGS…]\n",
    });
    expect(await caisson(["inspect", "nosuchsandbox"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown sandbox"),
    });
    expect(await caisson(["ls"], "", { CAISSON_URL: "http://127.0.0.1:9" })).toMatchObject({
      code: 125,
      stderr: expect.stringContaining("cannot reach"),
    });
    expect(await caisson(["create", "--memory", "1T"])).toMatchObject({ code: 2 });
    expect(await caisson(["create", "--memory", "9G"])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/memory_mb.*8 GB/),
    });
  });
});
