import { createHash } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { errnoOf } from "../../packages/server/src/core/errors.ts";
import { sandboxLimits } from "../../packages/server/src/core/limits.ts";
import type { Run } from "../../packages/server/src/core/run.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";
import { idPool, processesOf } from "../leaks.ts";

/** What the open descriptors of a host process lead to. */
/** What a process has open, and still had when it was looked at. */
function descriptorsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
      return [];
    }
  });
}

/** The status of each thread of a host process that is still there. */
function threadsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((tid) => {
    try {
      return [readFileSync(`/proc/${pid}/task/${tid}/status`, "utf8")];
    } catch (error) {
      if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ESRCH") return [];
      throw error;
    }
  });
}

/** A run that is under way once this returns. */
async function startWaiting(sandbox: Sandbox): Promise<Run> {
  const ready = Promise.withResolvers<void>();
  const onOutput = () => void ready.resolve();
  const run = await sandbox.start({ command: "echo ready; sleep 60", trackFiles: false, onOutput });
  await ready.promise;
  return run;
}

describe.each(engines)("the boundary (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });
  const sh = async (command: string) => (await sandbox.exec({ command, trackFiles: false })).stdout.trim();

  it("[SBX-01] PID 1 is the guest, and its descriptors are the wire alone", async () => {
    expect(await sh("cat /proc/1/comm")).toMatch(/guest/);
    const open =
      "for n in 0 1 3 4 5; do (exec 9</proc/1/fd/$n) 2>/dev/null && echo open; (exec 9>/proc/1/fd/$n) 2>/dev/null && echo open; done; true";
    expect(await sh(open)).toBe("");
  });

  // A sentry and its stubs share one table of descriptors: there the wire is all the guest has of the host.
  it.runIf(engine === "container")(
    "[SBX-01] on the host the guest alone holds the wire, and nothing else",
    async () => {
      const run = await startWaiting(sandbox);
      const holders = processesOf(sandbox.id).filter((pid) =>
        descriptorsOf(pid).some((path) => path.includes("/wire/")),
      );
      expect(holders.map((pid) => readFileSync(`/proc/${pid}/comm`, "utf8"))).toEqual(["guest\n"]);
      // Its sockets are listeners on the sandbox's own loopback.
      const held = holders.flatMap(descriptorsOf).filter((path) => !/^(pipe|anon_inode|socket):/.test(path));
      const parts = held.map((path) => path.replace(/^.*\/wire\//, ""));
      expect(parts.sort()).toEqual(["/dev/null", "from-guest", "to-guest"]);
      run.kill();
      await run.result;
    },
  );

  it("[SBX-03] each host process, the sentry included, is in the sandbox's own namespaces and range of ids", async () => {
    const run = await startWaiting(sandbox);
    const pids = processesOf(sandbox.id);
    expect(pids.length).toBeGreaterThan(1);
    const own = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];
    const shared = pids.flatMap((pid) =>
      own.filter((name) => readlinkSync(`/proc/${pid}/ns/${name}`) === readlinkSync(`/proc/self/ns/${name}`)),
    );
    expect(shared).toEqual([]);
    const statusOf = (pid: number) => readFileSync(`/proc/${pid}/status`, "utf8");
    const uids = pids.map((pid) => Number(/^Uid:\s*(\d+)/m.exec(statusOf(pid))?.[1]));
    const slots = uids.map((uid) => Math.floor((uid - idPool.firstId) / idPool.idsPerSlot));
    expect(new Set(slots).size).toBe(1);
    expect(slots[0]).toBeGreaterThanOrEqual(0);
    if (engine === "gvisor") {
      // No thread of the sentry, or of what runs user code for it, could do anything to a file of the host.
      const nameOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0];
      const confined = pids.filter((pid) => nameOf(pid) !== "runsc-gofer").flatMap(threadsOf);
      expect(confined.length).toBeGreaterThan(2);
      const without = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map((set) => new RegExp(`^${set}:\t0+$`, "m"));
      for (const status of confined) for (const claim of [...without, /^Seccomp:\t2$/m]) expect(status).toMatch(claim);
      for (const status of pids.flatMap(threadsOf)) expect(status).toMatch(/^Seccomp:\t2$/m);
    }
    run.kill();
    await run.result;
  });

  it("[SBX-03] user code is uid 1000 with five empty capability sets and no_new_privs", async () => {
    // The second group marks the processes of the run.
    expect(await sh("id -u; id -g; id -G")).toMatch(/^1000\n1000\n1000 20\d\d$/);
    const status = await sh("cat /proc/self/status");
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
      const row = status.split("\n").find((line) => line.startsWith(`${set}:`));
      expect(row).toMatch(/\t0+$/);
    }
    const code = "import ctypes; print(ctypes.CDLL(None).prctl(39,0,0,0,0))";
    expect((await sandbox.executeCode({ language: "python", code })).stdout).toBe("1\n");
  });

  it("[SBX-03] the root is read-only and the usual paths are masked", async () => {
    expect(await sh("touch /x 2>&1; touch /usr/x 2>&1; touch /etc/x 2>&1; mkdir /.caisson/x 2>&1")).not.toBe("");
    expect(await sh("ls / /usr /etc /.caisson | grep -cx x; true")).toBe("0");
    const mounts = (await sh("cat /proc/mounts")).split("\n").map((line) => line.split(" "));
    const optionsOf = (path: string) => mounts.find(([, mounted]) => mounted === path)?.[3]?.split(",");
    expect(optionsOf("/")).toContain("ro");
    expect(optionsOf("/workspace")).toContain("rw");
    expect(await sh("cat /proc/kcore /proc/keys /proc/timer_list 2>/dev/null | head -c 10 | wc -c")).toBe("0");
  });

  it("[SBX-05] the network namespace holds loopback only, and loopback works", async () => {
    const code = `
import socket
names=[line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line]
print(names)
server=socket.create_server(("127.0.0.1",0)); client=socket.create_connection(server.getsockname()); print("connected")
try: socket.create_connection(("192.0.2.1",80),timeout=2); print("out")
except OSError as error: print("no way out")
`;
    expect((await sandbox.executeCode({ language: "python", code })).stdout).toBe("['lo']\nconnected\nno way out\n");
  });

  it("[SBX-06] /workspace and home are writable, /tmp is a bounded tmpfs", async () => {
    expect(await sh("echo a > /workspace/w && echo b > ~/h && echo c > /tmp/t && cat /workspace/w ~/h /tmp/t")).toBe(
      "a\nb\nc",
    );
    // Half of the memory limit: what fills /tmp gets ENOSPC, and is not ended for memory.
    const fill = await sandbox.exec({
      command: "rm /tmp/t; head -c 300000000 /dev/zero > /tmp/fill; stat -c %s /tmp/fill",
    });
    expect(fill).toMatchObject({ stdout: `${sandboxLimits.tmpBytes}\n`, oom_killed: false });
    expect(fill.stderr).toMatch(/No space left/);
    await sh("rm /tmp/fill");
  });

  it("[SBX-06] what a run leaves in /workspace is there for the next one", async () => {
    await sh("mkdir -p /workspace/left && echo kept > /workspace/left/behind");
    expect(await sh("cat /workspace/left/behind")).toBe("kept");
  });

  it("[IMG-01] python3, node and bash are there; the host's files are not", async () => {
    expect(await sh("python3 -c 'print(1)'; node -e 'console.log(2)'; bash -c 'echo 3'")).toBe("1\n2\n3");
    expect(await sh("ls -d /root /var /opt/x /home/* 2>/dev/null; cat /etc/shadow 2>&1 | head -1")).not.toMatch(
      /root:[*$!]/,
    );
    expect(await sh("ls /home")).toBe("user");
  });

  it("[IMG-01] /usr is the machine's own, read-only; /etc is made for sandboxes", async () => {
    const digest = createHash("sha256").update(readFileSync("/usr/bin/env")).digest("hex");
    expect(await sh("sha256sum < /usr/bin/env")).toBe(`${digest}  -`);
    expect(await sh("touch /usr/bin/new 2>/dev/null || echo refused")).toBe("refused");
    expect(await sh("cut -d: -f1 /etc/passwd; cat /etc/hostname")).toBe(
      `root\nuser\nnobody\n${sandbox.id.slice(0, 12)}`,
    );
    expect(await sh("cd /etc; ls -d shadow gshadow machine-id ssh sudoers fstab 2>/dev/null; true")).toBe("");
  });

  it("[SBX-03] has a host name of its own, which user code cannot change", async () => {
    const own = sandbox.id.slice(0, 12);
    expect(await sh("uname -n; cat /etc/hosts")).toBe(`${own}\n127.0.0.1 localhost ${own}\n::1 localhost`);
    const code = "import socket\ntry: socket.sethostname('other')\nexcept PermissionError: print(socket.gethostname())";
    expect((await sandbox.executeCode({ language: "python", code })).stdout).toBe(`${own}\n`);
    expect(
      await sh("echo x >/etc/hostname || echo x >/run/caisson/hostname || rm -f /run/caisson/hosts || echo no"),
    ).toBe("no");
  });

  it("[SBX-04] what the list does not name is refused, new namespaces by clone too; what it names works", async () => {
    const calls = { unknown: 999, bpf: 321, keyctl: 250, clone: 56, getppid: 110 };
    const code = `
import ctypes, errno
libc=ctypes.CDLL(None,use_errno=True)
for name,number in ${JSON.stringify(calls)}.items():
  flags=0x10000000|17 if name=="clone" else 0
  done=libc.syscall(number,flags,0,0,0,0)
  print(name, "done" if done>=0 else errno.errorcode[ctypes.get_errno()])
`;
    const { stdout } = await sandbox.executeCode({ language: "python", code });
    expect(stdout).toBe("unknown EPERM\nbpf EPERM\nkeyctl EPERM\nclone EPERM\ngetppid done\n");
  });

  it("[SBX-04] a filter stands on user code: no new namespaces, no raw or odd sockets (hazard 16)", async () => {
    const code = `
import ctypes, socket, os
libc=ctypes.CDLL(None,use_errno=True)
print(libc.unshare(0x10000000), os.strerror(ctypes.get_errno()))
for family,kind in ((17,3),(2,3),(40,1),(16,3),(38,5),(1,1)):
  try: socket.socket(family,kind,9 if family==16 else 0).close(); print(family,"opened")
  except OSError as error: print(family,"refused")
`;
    const { stdout } = await sandbox.executeCode({ language: "python", code });
    expect(stdout).toBe(
      "-1 Operation not permitted\n17 refused\n2 refused\n40 refused\n16 refused\n38 refused\n1 opened\n",
    );
  });

  it("[SBX-03] there are no devices but the plain ones, and none of gVisor's own switches", async () => {
    const plain = ["fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout"];
    const folders = engine === "gvisor" ? ["char", "net"] : ["mqueue"];
    const expected = [...plain, ...folders, "tty", "urandom", "zero"].sort();
    expect((await sh("ls /dev; ls /dev/net 2>/dev/null; true")).split("\n").sort()).toEqual(expected);
    const saved = await sh("(echo 1 > /proc/gvisor/checkpoint) 2>&1; cat /proc/gvisor/spec_environ 2>/dev/null; true");
    expect(saved).toMatch(/(not permitted|Permission denied|No such file or directory)$/);
  });

  it("the guest's environment is empty (hazard 16)", async () => {
    expect(await sh("cat /proc/1/environ 2>/dev/null | tr -d '\\0'")).toBe("");
  });
});
