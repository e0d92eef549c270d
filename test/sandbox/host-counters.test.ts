import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, ordinary, type TestCaisson } from "../harness.ts";
import { mustRun } from "./must-run.ts";

/** Each counts what the whole machine does, or says which machine it is. */
const counters = [
  "buddyinfo",
  "cmdline",
  "diskstats",
  "interrupts",
  "iomem",
  "partitions",
  "pressure/cpu",
  "pressure/memory",
  "softirqs",
  "swaps",
  "sys/fs/dentry-state",
  "sys/fs/file-nr",
  "sys/fs/inode-nr",
  "sys/kernel/pty/nr",
  "sys/kernel/random/boot_id",
  "vmstat",
  "zoneinfo",
];

const sockets = `
import errno, socket
for family in socket.AF_INET, socket.AF_INET6:
    for kind, protocol in ("stream", 6), ("dgram", 17), ("stream", 262), ("dgram", 136), ("stream", 132), ("stream", 33):
        try:
            socket.socket(family, {"stream": socket.SOCK_STREAM, "dgram": socket.SOCK_DGRAM}[kind], protocol).close()
            print(protocol, "made")
        except OSError as error:
            print(protocol, errno.errorcode[error.errno])
`;

describe.each(engines)("what a sandbox learns of its host (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[S91] the counters of the machine are empty, and those that programs need are there", async () => {
    const own = engine === "gvisor" ? ["cmdline", "sys/kernel/random/boot_id"] : []; // of a kernel that is the sandbox's
    for (const name of counters) {
      const { stdout } = await sandbox.exec({ command: `cat /proc/${name} 2>/dev/null` });
      if (own.includes(name)) expect([name, stdout]).not.toEqual([name, readFileSync(`/proc/${name}`, "utf8")]);
      else expect([name, stdout]).toEqual([name, ""]);
    }
    for (const name of ["stat", "meminfo", "loadavg", "uptime", "cpuinfo", "version"])
      expect([name, (await mustRun(sandbox, `head -c 1 /proc/${name}`)).length]).toEqual([name, 1]);
  });

  it.skipIf(ordinary)("[S91] its table of mounts names no folder and no disk of the host", async () => {
    const table = await mustRun(sandbox, "cat /proc/self/mountinfo /proc/self/mounts");
    expect(table).toContain("/workspace");
    expect(table).not.toContain(test.home);
    expect(table).not.toContain(sandbox.id);
    expect(table).not.toMatch(/\.build|node_modules|\/dev\/(?!loop)[a-z]+[0-9]* ext4/);
  });

  it("[S91] sockets speak TCP and UDP, and no protocol that programs do not need", async () => {
    const made = await sandbox.executeCode({ language: "python", code: sockets });
    const lines = ["6 made", "17 made", ...[262, 136, 132, 33].map((number) => `${number} EPROTONOSUPPORT`)];
    expect(made.stdout.trim().split("\n")).toEqual([...lines, ...lines]);
  });
});
