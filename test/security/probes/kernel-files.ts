import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runOnHost } from "../host-run.ts";
import type { Probe } from "../probe.ts";
import {
  type HostTwin,
  hostTwin,
  type Judge,
  type ProgramProbe,
  programProbe,
  runProgramOnHost,
  tryInSandbox,
} from "../program-probe.ts";

const section = "Host kernel and runtime";
const asRoot: HostTwin = { where: "on the host as root" };
const probe = (rest: Omit<ProgramProbe, "section">): Probe => programProbe({ section, ...rest });

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
const logJudge = "only root reads the kernel's log, by which it is judged";
const kernelLog = async () => (await runOnHost(["/usr/bin/dmesg"])).stdout;

/** Mounts a stand-in over a setting of the kernel, in a mount namespace of its own, and goes on with the program. */
const standIn =
  'mount -t tmpfs none "$1" && mkdir -p "$(dirname "$2")" && touch "$2" && mount --bind "$0" "$2" && shift 2 && exec "$@"';

interface Setting {
  path: string;
  value: string;
  /** The folder that the twin's tmpfs covers. */
  top: string;
  /** What the host shows of it; the file itself unless told. */
  look?: () => Promise<string>;
  rootJudges?: string;
}

/** Judged by what the host shows before and after. A value that did get through is put back. */
function settingProbe({
  path,
  value,
  top,
  rootJudges,
  look = () => readFile(path, "utf8").catch(() => "absent"),
}: Setting): Probe {
  return {
    section,
    ...(rootJudges === undefined ? {} : { rootJudges }),
    claim: `write ${path}`,
    attempt: async ({ sandbox, stage }) => {
      const before = await look();
      const seen = await tryInSandbox({ sandbox }, stage.fill(["write", path, value]));
      const after = await look();
      if (before === after) return typeof seen === "string" ? seen : null;
      await writeFile(path, before).catch(() => undefined);
      return `the host's ${path} became ${after.slice(-100).trim()}`;
    },
    twin: {
      where: "on the host where a stand-in lies over it",
      attempt: async ({ stage }) => {
        const file = join(stage.folder, "setting");
        await writeFile(file, "as it was");
        await runProgramOnHost(stage, ["write", path, value], {
          wrap: ["unshare", "--mount", "/bin/bash", "-c", standIn, file, top, path],
        });
        const after = await readFile(file, "utf8");
        return after.startsWith(stage.fill([value])[0] ?? "") ? `${path} became ${after}` : null;
      },
    },
  };
}

const sysrqLines = async () =>
  (await kernelLog())
    .split("\n")
    .filter((line) => line.includes("sysrq:"))
    .join("\n");

const settings: readonly Setting[] = [
  { path: "/proc/sys/kernel/core_pattern", value: "core.{mark}", top: "/proc/sys" },
  { path: "/proc/sys/kernel/modprobe", value: "/{mark}", top: "/proc/sys" },
  { path: "/proc/sys/kernel/panic", value: "977", top: "/proc/sys" },
  { path: "/proc/sys/vm/swappiness", value: "97", top: "/proc/sys" },
  { path: "/proc/sys/kernel/randomize_va_space", value: "1", top: "/proc/sys" },
  { path: "/proc/sys/fs/binfmt_misc/register", value: ":{mark}:M::{mark}::/bin/true:", top: "/proc/sys" },
  { path: "/proc/sysrq-trigger", value: "h", top: "/proc", look: sysrqLines, rootJudges: logJudge },
  { path: "/proc/irq/default_smp_affinity", value: "1", top: "/proc/irq" },
  { path: "/sys/kernel/uevent_helper", value: "/{mark}", top: "/sys" },
  { path: "/sys/kernel/mm/transparent_hugepage/enabled", value: "never", top: "/sys" },
  { path: "/sys/kernel/profiling", value: "1", top: "/sys" },
];

/** The kernel starts the agent on the host, whoever named it: the file that the agent makes is the judge. */
const agentRan: Judge = async (seen, { stage }) => {
  if (await exists(join(stage.folder, "agent-ran"))) return "the agent ran on the host";
  return seen.stdout.includes("GAINED") ? seen.stdout : null;
};
const agentWords = ["release-agent", "{folder}/agent", "{folder}/agent-ran"];

export const kernelFiles: readonly Probe[] = [
  probe({
    claim: "open the host's devices",
    words: [
      "open-devices",
      "/dev/mem",
      "/dev/kmem",
      "/dev/port",
      "/dev/kmsg",
      "/dev/kvm",
      "/dev/loop-control",
      "/dev/loop0",
      "/dev/loop1",
      "/dev/loop2",
      "/dev/vda",
      "/dev/sda",
      "/dev/nvme0n1",
      "/dev/vhost-net",
      "/dev/vsock",
      "/dev/uinput",
      "/dev/snapshot",
      "/dev/mapper/control",
      "/dev/hwrng",
      "/dev/console",
      "/dev/tty0",
      "/dev/vcs",
      "/dev/btrfs-control",
      "{disk}",
    ],
    twin: { ...asRoot, words: ["open-devices", "/dev/kmsg", "{disk}"] },
  }),
  probe({
    claim: "make a network interface",
    words: ["make-interface"],
    twin: { where: "on the host in a network namespace of its own", wrap: ["unshare", "--net"] },
  }),
  probe({ claim: "make a device node that works", words: ["make-devices"], twin: asRoot }),
  {
    rootJudges: "only root can lay a secret on a disk of the host",
    ...probe({
      claim: "read a disk of the host through a node of its own",
      words: ["read-disk", "{major}", "{minor}"],
      judge: (seen, { stage }) =>
        seen.stdout.includes(Buffer.from(stage.token).toString("hex")) ? "the disk's first bytes" : null,
      twin: asRoot,
    }),
  },
  probe({
    claim: "open a file of the kernel for writing",
    words: ["writable", "/sys", "/proc/sys", "/sys/fs/cgroup", "/proc/irq", "/proc/bus", "/sys/firmware"],
    twin: { ...asRoot, words: ["writable", "/sys/kernel/mm"] },
  }),
  {
    rootJudges: logJudge,
    ...probe({
      claim: "write to the host's kernel log",
      words: ["write", "/dev/kmsg", "caisson escape suite: {mark} wrote this\n"],
      judge: async (_seen, { stage }) =>
        (await kernelLog()).includes(`${stage.mark} wrote this`) ? "a line in the host's log" : null,
      twin: asRoot,
    }),
  },
  ...settings.map(settingProbe),
  {
    section,
    claim: "have the host start a program by a cgroup's release agent",
    attempt: async (ground) => {
      const seen = await tryInSandbox(ground, ground.stage.fill(["in-user-namespace", ...agentWords]));
      return typeof seen === "string" ? seen : agentRan(seen, ground);
    },
    twin: {
      where: "on the host by a hierarchy of its own",
      plainRoot: true,
      attempt: async (ground) => {
        const { folder } = ground.stage;
        await writeFile(join(folder, "agent"), `#!/bin/sh\n: >${folder}/agent-ran\n`, { mode: 0o755 });
        return hostTwin(agentWords, { where: "", wrap: ["unshare", "--mount"] }, async (_seen, { stage }) =>
          (await exists(join(stage.folder, "agent-ran"))) ? "the agent ran" : null,
        ).attempt(ground);
      },
    },
  },
  probe({
    claim: "name a release agent in the host's cgroups",
    words: ["write-any-release-agent", "/{mark}"],
    twin: {
      where: "on the host where a stand-in lies over it",
      wrap: [
        "unshare",
        "--mount",
        "/bin/bash",
        "-c",
        'mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/pids && touch /sys/fs/cgroup/pids/release_agent && exec "$@"',
        "sh",
      ],
    },
  }),
];
