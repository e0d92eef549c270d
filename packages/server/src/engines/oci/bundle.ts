import type { EngineName, SandboxSpec } from "../../core/engine.ts";
import { hostNameOf } from "../../core/host-name.ts";
import { sandboxLimits } from "../../core/limits.ts";
import { runtimes, view } from "../runtime.ts";

/**
 * What the guest needs to start user code as another user and to end it, and to listen on ports below 1024; and, before it
 * starts anything, to prepare lo and to give all else up. User code itself has none (SBX-03).
 */
const guestCapabilities = [
  "CAP_SETUID",
  "CAP_SETGID",
  "CAP_KILL",
  "CAP_SETPCAP",
  "CAP_NET_BIND_SERVICE",
  "CAP_NET_ADMIN",
] as const;

/** Of a copy that goes on from saved memory: to change the host name from that of its original. Taken up for that alone. */
const savedCapabilities = ["CAP_SYS_ADMIN"] as const;

/**
 * Names what the kernel tells about the host, or lets a process do to it. Left are stat, meminfo, loadavg, uptime, cpuinfo,
 * version and cgroups: programs size themselves by them, and system calls tell most of it too.
 */
const maskedPaths = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/bus",
  "/proc/buddyinfo",
  "/proc/cmdline",
  "/proc/config.gz",
  "/proc/consoles",
  "/proc/crypto",
  "/proc/devices",
  "/proc/diskstats",
  "/proc/dma",
  "/proc/driver",
  "/proc/fs",
  "/proc/interrupts",
  "/proc/iomem",
  "/proc/ioports",
  "/proc/irq",
  "/proc/kallsyms",
  "/proc/kcore",
  "/proc/key-users",
  "/proc/keys",
  "/proc/kmsg",
  "/proc/kpagecgroup",
  "/proc/kpagecount",
  "/proc/kpageflags",
  "/proc/latency_stats",
  "/proc/mdstat",
  "/proc/misc",
  "/proc/modules",
  "/proc/mtrr",
  "/proc/pagetypeinfo",
  "/proc/partitions",
  "/proc/pressure",
  "/proc/sched_debug",
  "/proc/schedstat",
  "/proc/scsi",
  "/proc/slabinfo",
  "/proc/softirqs",
  "/proc/swaps",
  "/proc/sys/fs/aio-nr",
  "/proc/sys/fs/dentry-state",
  "/proc/sys/fs/file-nr",
  "/proc/sys/fs/inode-nr",
  "/proc/sys/fs/inode-state",
  "/proc/sys/kernel/pty/nr",
  "/proc/sys/kernel/random/boot_id",
  "/proc/sysrq-trigger",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/tty",
  "/proc/vmallocinfo",
  "/proc/vmstat",
  "/proc/zoneinfo",
] as const;

const readonlyPaths = ["/proc/sys"] as const;

interface Mount {
  destination: string;
  type: string;
  source: string;
  options: string[];
}

export interface BundleOptions {
  id: string;
  engine: EngineName;
  spec: Pick<SandboxSpec, "limits" | "listeners">;
  /** Whether the volume holds an input folder. */
  hasInput: boolean;
  /** True if the helper makes its /dev: the runtime would bind the host's devices, which all sandboxes share (S89). */
  hasDevices: boolean;
  guestArgs: readonly string[];
}

function tmpfs(destination: string, sizeBytes: number, ...options: string[]): Mount {
  const sizeKiB = Math.max(4, Math.floor(sizeBytes / 1024));
  return { destination, type: "tmpfs", source: "tmpfs", options: [...options, `size=${sizeKiB}k`] };
}

function bind(destination: string, folder: string, ...options: string[]): Mount {
  return {
    destination,
    type: "bind",
    source: `${view.volume}/${folder}`,
    options: ["bind", "nosuid", "nodev", ...options],
  };
}

const ownDevices: Mount = {
  destination: "/dev",
  type: "bind",
  source: view.devices,
  options: ["bind", "nosuid", "noexec"],
};

function mounts({ engine, spec, hasInput, hasDevices }: BundleOptions): Mount[] {
  const tmpBytes = Math.min(sandboxLimits.tmpBytes, spec.limits.memoryBytes / 2);
  // What is mounted there may be an overlay after a restore, which goes on with the options of the first start.
  const coherent = runtimes[engine].savesMemory ? ["overlayfs_stale_read"] : [];
  const list: Mount[] = [
    { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "noexec", "nodev"] },
    hasDevices ? ownDevices : tmpfs("/dev", 65_536 * 1024, "nosuid", "strictatime", "mode=755"),
    {
      destination: "/dev/pts",
      type: "devpts",
      source: "devpts",
      options: [
        "nosuid",
        "noexec",
        "newinstance",
        "ptmxmode=0666",
        "mode=0620",
        "gid=5",
        `max=${sandboxLimits.terminals}`,
      ],
    },
    tmpfs("/dev/shm", sandboxLimits.shmBytes, "nosuid", "nodev", "noexec", "mode=1777"),
    tmpfs("/tmp", tmpBytes, "nosuid", "nodev", "mode=1777"),
    tmpfs("/run", sandboxLimits.runBytes, "nosuid", "nodev", "noexec", "mode=755"),
    bind("/workspace", "ws", ...coherent),
    bind("/home/user", "home", ...coherent),
  ];
  if (engine === "container") {
    list.push({ destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: ["nosuid", "noexec", "nodev"] });
  }
  if (hasInput) list.push(bind("/workspace/input", "input", "ro"));
  return list;
}

/**
 * The runtime is itself started in the sandbox's user namespace and cgroups, so the bundle names neither. The guest's
 * environment is empty: user code can read it.
 */
export function makeBundle(options: BundleOptions) {
  const capabilities = runtimes[options.engine].savesMemory
    ? [...guestCapabilities, ...savedCapabilities]
    : guestCapabilities;
  return {
    ociVersion: "1.0.2",
    hostname: hostNameOf(options.id),
    root: { path: view.rootfs, readonly: true },
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args: ["/.caisson/guest", ...options.guestArgs, ...(options.spec.listeners === false ? ["no-listeners"] : [])],
      env: [],
      cwd: "/",
      noNewPrivileges: true,
      capabilities: {
        bounding: capabilities,
        effective: capabilities,
        permitted: capabilities,
        inheritable: [],
        ambient: [],
      },
    },
    mounts: mounts(options),
    linux: {
      namespaces: ["pid", "ipc", "uts", "mount", "network", "cgroup"].map((type) => ({ type })),
      maskedPaths,
      readonlyPaths,
    },
  };
}
