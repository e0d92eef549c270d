import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { engines, root } from "../harness.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp("/var/tmp/caisson-low-disk-");
});
afterAll(() => rm(folder, { recursive: true }));

/** Long enough to be heard in; with CAISSON_SOAK past the time after which a guest that answers nothing counts as lost. */
const standstillMs = process.env.CAISSON_SOAK === "1" ? wireLimits.pongTimeoutMs + 15_000 : 500;

const script = `
import sys
print("running", flush=True)
print("heard", sys.stdin.readline().strip())
`;

/**
 * A run on a data folder whose disk, seen by this one command only, shrinks below the watermark and grows again: a tmpfs
 * takes any size that it does not use. The shell that made the disk takes its size from a descriptor.
 */
function runOnShrinkingDisk(engine: string, home: string, code: string) {
  const disk = [
    `mount -t tmpfs -o size=4g none "$CAISSON_HOME"`,
    `"$0" run --engine ${engine} --storage 64M "$1" <&4 &`,
    "pid=$!",
    `while read -r size <&3; do`,
    `  case $size in INT) kill -INT $pid;; *) mount -o remount,size=$size none "$CAISSON_HOME";; esac`,
    "done &",
    "wait $pid",
    "code=$?",
    "kill $!",
    `find "$CAISSON_HOME/engine/sandboxes" -mindepth 1 -maxdepth 1 -name '*-*-*'`,
    "exit $code",
  ].join("\n");
  const child = spawn("/usr/bin/unshare", ["-m", "sh", "-c", disk, join(root, "caisson"), code], {
    env: { ...process.env, CAISSON_HOME: home },
    stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
  });
  const seen = { stdout: "", stderr: "" };
  for (const channel of ["stdout", "stderr"] as const)
    child[channel]?.setEncoding("utf8").on("data", (text) => {
      seen[channel] += text;
    });
  const [orders, input] = [child.stdio[3], child.stdio[4]] as NodeJS.WritableStream[];
  return {
    seen,
    order: (word: string) => orders?.write(`${word}\n`),
    type: (line: string) => input?.write(`${line}\n`),
    exit: new Promise((resolve) => child.on("close", resolve)),
  };
}

const wait = { timeout: 30_000 };

describe.each(engines)("a disk that is nearly full while a sandbox runs (%s)", (engine) => {
  it("makes it stand still, says so once, and goes on when there is room", async () => {
    const code = join(folder, "script.py");
    await writeFile(code, script);
    const home = await mkdtemp(join(folder, "home-"));
    const run = runOnShrinkingDisk(engine, home, code);
    await expect.poll(() => run.seen.stdout, wait).toBe("running\n");
    run.order("900m");
    await expect.poll(() => run.seen.stderr, wait).toContain("almost full: the sandbox waits until space is free\n");
    run.type("you");
    await sleep(standstillMs);
    expect(run.seen.stdout).toBe("running\n");
    run.order("4g");
    expect(await run.exit).toBe(0);
    expect(run.seen.stdout).toBe("running\nheard you\n");
    expect(run.seen.stderr.match(/almost full/g)).toHaveLength(1);
  });

  it("can be ended while it stands still, and leaves nothing", async () => {
    const code = join(folder, "script.py");
    await writeFile(code, script);
    const home = await mkdtemp(join(folder, "home-"));
    const run = runOnShrinkingDisk(engine, home, code);
    await expect.poll(() => run.seen.stdout, wait).toBe("running\n");
    run.order("900m");
    await expect.poll(() => run.seen.stderr, wait).toContain("almost full");
    run.order("INT");
    expect(await run.exit).toBe(130);
    expect(run.seen.stdout).toBe("running\n");
  });
});
