import { existsSync } from "node:fs";
import { copyFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { hostLimits } from "../../packages/server/src/host-access/limits.ts";
import { Folder, handWith, newMark, running } from "./hand.ts";

const timeoutMs = 30_000;

async function refusal(act: Promise<unknown>): Promise<string> {
  return act.then(
    () => "",
    (error: unknown) => String(error),
  );
}

describe("a command that a pattern allows", () => {
  const hand = handWith({ allow: ["echo **", "env", "pwd", "sh -c *", "id -u", "sleep *"] });

  it("[HST-02] runs with its arguments as they are, without a shell", async () => {
    const words = ["a b", ";", "id", "$(id)", "`id`", "|", "&&", ">x", "$HOME", "*", "line\nline", "'", '"', "é"];
    const { stdout, exit_code } = await hand.exec(["echo", ...words], { timeoutMs });
    expect({ stdout, exit_code }).toEqual({ stdout: `${words.join(" ")}\n`, exit_code: 0 });
  });

  it("[HST-02] has a fixed environment, and nothing of this process's", async () => {
    vi.stubEnv("LD_PRELOAD", "/nowhere/evil.so");
    vi.stubEnv("PATH", "/nowhere");
    vi.stubEnv("CAISSON_SECRET_DEFAULT_TOKEN", "hidden");
    const { stdout } = await hand.exec(["env"], { timeoutMs }).finally(() => vi.unstubAllEnvs());
    const names = stdout
      .trim()
      .split("\n")
      .map((row) => row.split("=")[0]);
    expect(names.sort()).toEqual(["HOME", "LANG", "LOGNAME", "PATH", "TERM", "USER"]);
    expect(stdout).toContain("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n");
  });

  it("[HST-02] runs as the user of this process, in /", async () => {
    expect((await hand.exec(["id", "-u"], { timeoutMs })).stdout).toBe(`${process.geteuid?.()}\n`);
    expect((await hand.exec(["pwd"], { timeoutMs })).stdout).toBe("/\n");
  });

  it("tells how it ended", async () => {
    expect(await hand.exec(["sh", "-c", "echo out; echo err >&2; exit 3"], { timeoutMs })).toMatchObject({
      exit_code: 3,
      signal: null,
      stdout: "out\n",
      stderr: "err\n",
      timed_out: false,
    });
    expect(await hand.exec(["sh", "-c", "kill -TERM $$"], { timeoutMs })).toMatchObject({
      exit_code: null,
      signal: "SIGTERM",
    });
  });

  it("has its output cut at the limit, and goes on", async () => {
    const much = `head -c ${hostLimits.outputBytes + 1} /dev/zero; exit 4`;
    const result = await hand.exec(["sh", "-c", much], { timeoutMs });
    expect(result).toMatchObject({ exit_code: 4, stdout_truncated: true, stderr_truncated: false });
    expect(result.stdout).toHaveLength(hostLimits.outputBytes);
    const whole = await hand.exec(["sh", "-c", `head -c ${hostLimits.outputBytes} /dev/zero`], { timeoutMs });
    expect(whole).toMatchObject({ exit_code: 0, stdout_truncated: false });
  });

  it("is ended with its children when its time is over", async () => {
    const mark = newMark();
    const result = await hand.exec(["sh", "-c", `sleep ${mark} & sleep ${mark}; echo late`], { timeoutMs: 300 });
    expect(result).toMatchObject({ timed_out: true, signal: "SIGKILL", stdout: "" });
    await vi.waitFor(() => expect(running(mark)).toBe(false), 20_000);
  });

  it("is ended with its children when its caller goes", async () => {
    const mark = newMark();
    const gone = new AbortController();
    const run = hand.exec(["sh", "-c", `sleep ${mark} & sleep ${mark}`], { timeoutMs, signal: gone.signal });
    await vi.waitFor(() => expect(running(mark)).toBe(true), { timeout: 20_000 });
    gone.abort();
    expect(await run).toMatchObject({ signal: "SIGKILL", timed_out: false });
    await vi.waitFor(() => expect(running(mark)).toBe(false), 20_000);
  });

  it("leaves nothing of its group behind when it ends by itself", async () => {
    const mark = newMark();
    expect(await hand.exec(["sh", "-c", `sleep ${mark} & echo done`], { timeoutMs })).toMatchObject({
      exit_code: 0,
      stdout: "done\n",
    });
    await vi.waitFor(() => expect(running(mark)).toBe(false), 20_000);
  });

  it("is one of few at a time", async () => {
    const gone = new AbortController();
    const options = { timeoutMs, signal: gone.signal };
    const many = Array.from({ length: hostLimits.commands + 1 }, () => hand.exec(["sleep", "60"], options));
    expect(await refusal(Promise.race(many))).toContain("too many commands on the host");
    gone.abort();
    await Promise.allSettled(many);
    expect((await hand.exec(["pwd"], { timeoutMs })).exit_code).toBe(0);
  });
});

describe("a command that no pattern allows", () => {
  it("[HST-01] does not run", async () => {
    const hand = handWith({ allow: ["id -u"] });
    expect(await refusal(hand.exec(["id"], { timeoutMs }))).toContain("no pattern allows it");
    expect(await refusal(hand.exec(["id", "-u", "root"], { timeoutMs }))).toContain("no pattern allows it");
    expect((await hand.exec(["id", "-u"], { timeoutMs })).exit_code).toBe(0);
  });

  it("[HST-01] runs once a human has approved it, if it is that very command", async () => {
    const hand = handWith({});
    expect((await hand.exec(["id", "-u"], { timeoutMs, approved: "id -u" })).exit_code).toBe(0);
    expect((await hand.exec(["echo", "a"], { timeoutMs, approved: "echo *" })).stdout).toBe("a\n");
    expect(await refusal(hand.exec(["id"], { timeoutMs, approved: "id -u" }))).toContain("does not match");
    expect(await refusal(hand.exec(["echo", "-e"], { timeoutMs, approved: "echo *" }))).toContain("does not match");
  });

  it("[HST-01] does not run on an approval where nobody could have given one, or where it is blocked", async () => {
    const alone = handWith({}, { attended: false });
    expect(await refusal(alone.exec(["id"], { timeoutMs, approved: "id" }))).toContain("no pattern allows it");
    const blocking = handWith({ allow: ["id"], blocked: ["id **"] });
    expect(await refusal(blocking.exec(["id"], { timeoutMs, approved: "id" }))).toContain("is blocked");
    expect(await refusal(blocking.exec(["/usr/bin/id"], { timeoutMs, approved: "/usr/bin/id" }))).toContain(
      "is blocked",
    );
  });
});

describe("the program of a command", () => {
  it("[HST-02] is one that root alone can change, however it is named", async () => {
    await using folder = await Folder.make();
    const program = join(folder.path, "id");
    const hand = handWith({ allow: [`${program} -u`, "/usr/bin/id -u"] });
    await copyFile("/usr/bin/id", program);
    expect(await refusal(hand.exec([program, "-u"], { timeoutMs }))).toContain("other users than root can change");
    expect((await hand.exec(["/usr/bin/id", "-u"], { timeoutMs })).exit_code).toBe(0);
  });

  it("[HST-02] is not reached through a link that others can swap", async () => {
    await using folder = await Folder.make();
    const program = join(folder.path, "id");
    const hand = handWith({ allow: [`${program} -u`] });
    await symlink("/usr/bin/id", program);
    expect(await refusal(hand.exec([program, "-u"], { timeoutMs }))).toContain("other users than root can change");
  });

  it("[HST-02] is found in fixed folders, and not by a relative path", async () => {
    const hand = handWith({ allow: ["./id", "usr/bin/id", "no-such-program", "id"] });
    expect(await refusal(hand.exec(["./id"], { timeoutMs }))).toContain("nor an absolute path");
    expect(await refusal(hand.exec(["usr/bin/id"], { timeoutMs }))).toContain("nor an absolute path");
    expect(await refusal(hand.exec(["no-such-program"], { timeoutMs }))).toContain("not found on the host");
    expect((await hand.exec(["id"], { timeoutMs })).exit_code).toBe(0);
  });

  it("[HST-02] is blocked by what it is, not by what it is called", async () => {
    // Debian: sh is a link.
    const hand = handWith({ allow: ["sh -c *"], blocked: ["dash **", "bash **", "busybox **"] });
    expect(await refusal(hand.exec(["sh", "-c", "true"], { timeoutMs }))).toContain("is blocked");
  });

  it("[HST-02] variables before a command are not supported from the command", async () => {
    const hand = handWith({ allow: ["id"] });
    expect(await refusal(hand.exec(["LD_PRELOAD=x", "id"], { timeoutMs }))).toContain(
      "variables before a command are not supported",
    );
  });
});

describe("a path in a command that a wildcard lets through", () => {
  it("[HST-01] leads where the pattern says, also through links", async () => {
    await using folder = await Folder.make();
    const at = (name: string) => join(folder.path, name);
    await writeFile(at("plain"), "plain\n");
    await symlink("plain", at("inside"));
    await symlink("/etc/hostname", at("outside"));
    await symlink("/nowhere", at("dangling"));
    const allow = [
      `cat ${folder.path}/*`,
      `touch ${folder.path}/*`,
      `dd if=${folder.path}/*`,
      `ls --color=${folder.path}/*`,
    ];
    const hand = handWith({ allow });
    expect((await hand.exec(["cat", at("plain")], { timeoutMs })).stdout).toBe("plain\n");
    expect((await hand.exec(["cat", at("inside")], { timeoutMs })).stdout).toBe("plain\n");
    expect((await hand.exec(["touch", at("new")], { timeoutMs })).exit_code).toBe(0);
    expect(await refusal(hand.exec(["cat", at("outside")], { timeoutMs }))).toContain("does not cover the path");
    expect(await refusal(hand.exec(["touch", at("dangling")], { timeoutMs }))).toContain("cannot resolve");
    expect(await refusal(hand.exec(["cat", at("../../../etc/hostname")], { timeoutMs }))).toContain("no pattern");
    expect(await refusal(hand.exec(["cat", `${folder.path}/../../../etc/hostname`], { timeoutMs }))).toContain(
      "no pattern",
    );
    expect((await hand.exec(["dd", `if=${at("inside")}`], { timeoutMs })).stdout).toBe("plain\n");
    for (const words of [
      ["dd", `if=${at("outside")}`],
      ["ls", `--color=${at("outside")}`],
    ])
      expect(await refusal(hand.exec(words, { timeoutMs }))).toContain("does not cover the path");
    expect(existsSync("/nowhere")).toBe(false);
  });
});
