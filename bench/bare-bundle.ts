import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { programNames, programPath } from "./native-programs.ts";

/** What `runc spec` hides, so that the bare container is what its own tool would make. */
const maskedPaths = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
];
const readonlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

const tmpfs = (destination: string, ...options: string[]) => ({
  destination,
  type: "tmpfs",
  source: "tmpfs",
  options: ["nosuid", "nodev", ...options],
});

const mounts = [
  { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "noexec", "nodev"] },
  { destination: "/usr", type: "bind", source: "/usr", options: ["bind", "ro", "nosuid", "nodev"] },
  {
    destination: "/dev",
    type: "tmpfs",
    source: "tmpfs",
    options: ["nosuid", "strictatime", "mode=755", "size=65536k"],
  },
  {
    destination: "/dev/pts",
    type: "devpts",
    source: "devpts",
    options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
  },
  tmpfs("/dev/shm", "noexec", "mode=1777", "size=65536k"),
  { destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: ["nosuid", "noexec", "nodev"] },
  tmpfs("/tmp", "mode=1777", "size=65536k"),
];

const wholeRange = [{ containerID: 0, hostID: 200_000_000, size: 65_536 }];

function specification(args: readonly string[], rootfs: string) {
  return {
    ociVersion: "1.0.2",
    hostname: "bare",
    root: { path: rootfs, readonly: true },
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args,
      env: ["PATH=/usr/bin"],
      cwd: "/",
      noNewPrivileges: true,
    },
    mounts,
    linux: {
      namespaces: ["user", "pid", "ipc", "uts", "mount", "network", "cgroup"].map((type) => ({ type })),
      uidMappings: wholeRange,
      gidMappings: wholeRange,
      maskedPaths,
      readonlyPaths,
    },
  };
}

/** A root whose /usr is the host's, and the programs of the benchmarks in /bench. */
export async function makeRootfs(path: string): Promise<void> {
  for (const name of ["bench", "dev", "proc", "tmp", "usr"]) await mkdir(join(path, name), { recursive: true });
  for (const name of ["bin", "lib", "lib64"]) await symlink(`usr/${name}`, join(path, name));
  for (const name of programNames) await copyFile(programPath(name), join(path, "bench", name));
}

export async function writeBundle(path: string, args: readonly string[], rootfs: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await writeFile(join(path, "config.json"), JSON.stringify(specification(args, rootfs)));
}
