import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines, root } from "../harness.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp("/var/tmp/caisson-disk-");
});
afterAll(() => rm(folder, { recursive: true }));

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs an example on a data folder whose disk, seen by this one command only, has this size; then lists what is left. */
function runOnDisk(size: string, engine: string): Promise<Outcome> {
  const script = [
    `mount -t tmpfs -o size=${size} none "$CAISSON_HOME"`,
    `"$0" run --engine ${engine} --storage 64M "$1"`,
    "code=$?",
    `find "$CAISSON_HOME/engine/sandboxes" "$CAISSON_HOME/engine/images" -mindepth 1 -maxdepth 1 -name '*-*-*' 2>/dev/null`,
    "exit $code",
  ].join("\n");
  const words = ["-m", "sh", "-c", script, join(root, "caisson"), join(root, "examples/hello.py")];
  return new Promise((resolve) => {
    const env = { ...process.env, CAISSON_HOME: folder };
    execFile("/usr/bin/unshare", words, { env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    ).stdin?.end();
  });
}

describe.each(engines)("a full disk under the data folder (%s)", (engine) => {
  it("is named, with a hint, and nothing is left on it", async () => {
    const { code, stdout, stderr } = await runOnDisk("64k", engine);
    expect(stderr).toBe(
      `caisson: the disk with ${folder} is full\n  hint: free space on that disk, or set CAISSON_HOME to a folder on another disk\n`,
    );
    expect({ code, stdout }).toEqual({ code: 125, stdout: "" });
  });

  it("with room for the program but for no workspace says how much is free", async () => {
    const { code, stdout, stderr } = await runOnDisk("64m", engine);
    expect(stderr).toContain("not enough disk space for a workspace of");
    expect({ code, stdout }).toEqual({ code: 125, stdout: "" });
  });
});
