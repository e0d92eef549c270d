import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

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
      "for n in 0 1 3 4; do (exec 9</proc/1/fd/$n) 2>/dev/null && echo open; (exec 9>/proc/1/fd/$n) 2>/dev/null && echo open; done; true";
    expect(await sh(open)).toBe("");
  });

  it("[SBX-03] user code is uid 1000 with five empty capability sets and no_new_privs", async () => {
    // The second group marks the processes of the run.
    expect(await sh("id -u; id -g; id -G")).toMatch(/^1000\n1000\n1000 20\d\d$/);
    const status = await sh("cat /proc/self/status");
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
      const row = status.split("\n").find((line) => line.startsWith(`${set}:`));
      if (row !== undefined)
        expect(row).toMatch(/\t0+$/); // this gVisor tells no CapAmb
      else expect([engine, set]).toEqual(["gvisor", "CapAmb"]);
    }
    const code = "import ctypes; print(ctypes.CDLL(None).prctl(39,0,0,0,0))";
    expect((await sandbox.executeCode({ language: "python", code })).stdout).toBe("1\n");
  });

  it("[SBX-03] the root is read-only and the usual paths are masked", async () => {
    expect(await sh("touch /x 2>&1; touch /usr/x 2>&1; touch /etc/x 2>&1; mkdir /.caisson/x 2>&1")).not.toBe("");
    expect(await sh("ls / /usr /etc /.caisson | grep -cx x; true")).toBe("0");
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
    expect(await sh("head -c 2000000000 /dev/zero > /tmp/fill 2>&1; stat -c %s /tmp/fill; rm /tmp/fill")).not.toBe(
      "2000000000",
    );
  });

  it("[IMG-01] python3, node and bash are there; the host's files are not", async () => {
    expect(await sh("python3 -c 'print(1)'; node -e 'console.log(2)'; bash -c 'echo 3'")).toBe("1\n2\n3");
    expect(await sh("ls -d /root /var /opt/x /home/* 2>/dev/null; cat /etc/shadow 2>&1 | head -1")).not.toMatch(
      /root:[*$!]/,
    );
    expect(await sh("ls /home")).toBe("user");
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

  it("the guest's environment is empty (hazard 16)", async () => {
    // runsc adds HOME by itself.
    expect(await sh("cat /proc/1/environ 2>/dev/null | tr -d '\\0'")).toBe(engine === "gvisor" ? "HOME=/" : "");
  });
});
