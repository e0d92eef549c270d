import type { Probe } from "../probe.ts";
import { type HostTwin, type ProgramProbe, programProbe } from "../program-probe.ts";

const asRoot: HostTwin = { where: "on the host as root" };
const inOwnMounts: HostTwin = { where: "on the host in a mount namespace of its own", wrap: ["unshare", "--mount"] };
const asUser = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"];
const probe = (rest: Omit<ProgramProbe, "section">): Probe =>
  programProbe({ section: "Host kernel and runtime", ...rest });

/**
 * For calls that this kernel may lack or that no machine should make in a test: the same program under a filter that
 * answers them with success and makes none. It shows that the program asks, and tells a success as one.
 */
const pretend = (words: readonly string[], ...calls: string[]): HostTwin => ({
  where: "under a filter that only pretends, since no real one is harmless here",
  words: ["pretend", ...calls, "--", ...words],
});

export const kernelCalls: readonly Probe[] = [
  probe({
    claim: "mount a file system",
    words: [
      "mount",
      "tmpfs",
      "proc",
      "sysfs",
      "devpts",
      "ramfs",
      "overlay",
      "ext4",
      "cgroup2",
      "fuse",
      "mqueue",
      "debugfs",
      "bpf",
    ],
    twin: inOwnMounts,
  }),
  probe({ claim: "mount by the newer calls", words: ["mount-newly"], twin: inOwnMounts }),
  probe({
    claim: "mount after unsharing a user namespace",
    words: ["in-user-namespace", "mount", "tmpfs", "proc", "sysfs", "overlay"],
    twin: { where: "on the host as an ordinary user", wrap: asUser, words: ["in-user-namespace", "mount-newly"] },
  }),
  probe({ claim: "make a namespace by i386 or x32 calls", words: ["call-by-other-tables"], twin: asRoot }),
  probe({ claim: "load a module", words: ["load-module"], twin: pretend(["load-module"], "175", "313", "176") }),
  probe({ claim: "load a bpf program or map", words: ["load-bpf"], twin: asRoot }),
  probe({ claim: "open a perf event", words: ["open-perf-event"], twin: asRoot }),
  probe({
    claim: "read a key of the host's keyrings",
    words: ["read-key", "{serial}"],
    twin: { where: "on the host as an ordinary user", wrap: asUser },
  }),
  probe({ claim: "open a userfault descriptor", words: ["open-userfault"], twin: asRoot }),
  probe({ claim: "set up an io_uring", words: ["open-ring"], twin: asRoot }),
  probe({ claim: "load another kernel", words: ["load-kernel"], twin: pretend(["load-kernel"], "246", "320") }),
  probe({
    claim: "reboot",
    words: ["reboot"],
    judge: (seen) =>
      seen.signal !== null || seen.stdout.includes("GAINED") ? `the end of its pid namespace: ${seen.signal}` : null,
    twin: {
      where: "in a pid namespace of its own, whose end it is",
      wrap: ["unshare", "--user", "--map-root-user", "--pid", "--fork"],
    },
  }),
  probe({ claim: "set the clock", words: ["set-clock"], twin: { where: "on the host as root, to what it is" } }),
  probe({ claim: "add swap space", words: ["swap-on"], twin: { ...asRoot, plainRoot: true } }),
  probe({
    claim: "reach input and output ports or physical memory",
    words: ["reach-hardware"],
    twin: pretend(["reach-hardware"], "172", "173"),
  }),
  probe({
    claim: "start process accounting or watch all file access",
    words: ["account"],
    twin: { where: "on the host in a pid namespace of its own", wrap: ["unshare", "--pid", "--fork"] },
  }),
  probe({ claim: "read the host's kernel log", words: ["read-kernel-log"], twin: asRoot }),
];
