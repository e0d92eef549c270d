import { readFile } from "node:fs/promises";
import type { Probe } from "../probe.ts";
import {
  type HostTwin,
  hostTwin,
  neighbourTwin,
  type ProgramProbe,
  programProbe,
  reached,
  runProgramOnHost,
} from "../program-probe.ts";
import { copyProgram, hashPrograms } from "../stage.ts";

const asRoot: HostTwin = { where: "on the host as root" };
const inOwnMounts: HostTwin = { where: "on the host in a mount namespace of its own", wrap: ["unshare", "--mount"] };
/** So that a twin sees nobody's processes but its own. */
const ownPids = ["unshare", "--pid", "--fork", "--mount-proc"];
const inChroot: HostTwin = { where: "as root in a chroot", wrap: ["/usr/sbin/chroot", "{folder}"], program: "/probe" };
const probe = (rest: Omit<ProgramProbe, "section">): Probe => programProbe({ section: "Host files", ...rest });

/** What the shadow file holds is known only to the host: the judge compares with the whole of it. */
const tellsShadow: ProgramProbe["judge"] = async (seen) => {
  const shadow = (await readFile("/etc/shadow", "utf8")).trim();
  return shadow.length > 0 && seen.stdout.includes(shadow) ? "the whole shadow file" : null;
};

export const hostFiles: readonly Probe[] = [
  {
    rootJudges: "only root reads the host's shadow file, by whose lines it is judged",
    ...probe({
      claim: "read the host's shadow file",
      words: ["read", "/etc/shadow", "/etc/gshadow"],
      judge: tellsShadow,
      twin: asRoot,
    }),
  },
  probe({
    claim: "read a file of the host's root user by its path",
    words: ["read", "{canary}", "/root", "/root/.ssh"],
    twin: asRoot,
  }),
  probe({ claim: "read the data folder by its path", words: ["read", "{data}", "{home}"], twin: asRoot }),
  probe({
    claim: "find a secret of the host or of a neighbour in any file it can open",
    words: [
      "hunt",
      "{tokenBackwards}",
      "/etc",
      "/home",
      "/root",
      "/tmp",
      "/run",
      "/dev",
      "/dev/shm",
      "/var",
      "/opt",
      "/workspace",
      "/.caisson",
      "/sys",
    ],
    twin: { ...asRoot, words: ["hunt", "{tokenBackwards}", "{canaryFolder}"] },
  }),
  probe({ claim: "climb to the host with ..", words: ["read-up", "{canary}"], twin: asRoot }),
  probe({ claim: "climb to the data folder with ..", words: ["read-up", "{data}"], twin: asRoot }),
  probe({ claim: "read the host through a symbolic link", words: ["read-symbolic-link", "{canary}"], twin: asRoot }),
  probe({ claim: "read the host through a hard link", words: ["read-hard-link", "{canary}"], twin: asRoot }),
  probe({
    claim: "read the host through /proc/1/root",
    words: ["read", "/proc/1/root{canary}", "/proc/1/cwd{canary}"],
    twin: {
      where: "on the host as root, by a process that the test started",
      words: ["read", "/proc/{victim}/root{canary}"],
    },
  }),
  probe({
    claim: "read the host through the roots, folders and descriptors of processes",
    words: ["read-through-processes", "{canary}"],
    twin: { where: "on the host in a pid namespace of its own", wrap: ownPids },
  }),
  probe({
    claim: "read another sandbox's workspace through processes",
    words: ["read-through-processes", "/workspace/secret"],
    twin: neighbourTwin(["read-through-processes", "/workspace/secret"], "in the sandbox whose workspace it is"),
  }),
  probe({
    claim: "open the host's root folder by a file handle",
    words: ["read-by-handle", "{canary}"],
    twin: { ...asRoot, plainRoot: true },
  }),
  probe({ claim: "bind-mount the root elsewhere", words: ["read-by-bind", "{canary}"], twin: inOwnMounts }),
  probe({
    claim: "leave its root by chroot",
    words: ["leave-chroot", "{canary}"],
    twin: inChroot,
  }),
  probe({ claim: "change its root by pivot_root", words: ["pivot-root", "{canary}"], twin: inOwnMounts }),
  probe({
    claim: "enter the namespaces of other processes",
    words: ["enter-namespaces", "{canary}"],
    twin: {
      where: "on the host as root, those of its parent",
      wrap: ["unshare", "--mount", "--pid", "--fork", "--mount-proc"],
      words: ["in-user-namespace", "enter-namespaces", "{canary}"],
    },
  }),
  probe({ claim: "write to the read-only root", words: ["writable-root"], twin: inChroot }),
  probe({
    claim: "make the read-only root writable",
    words: ["remount", "/", "/usr", "/etc", "/proc/sys"],
    twin: { ...inOwnMounts, words: ["remount", "/"] },
  }),
  probe({
    claim: "uncover masked paths",
    words: ["unmount", "/proc/kcore", "/proc/keys", "/proc/sys", "/proc/acpi", "/usr/src", "/workspace"],
    twin: { ...inOwnMounts, words: ["unmount", "/proc"] },
  }),
  probe({
    claim: "find a descriptor that was left open",
    words: ["descriptors"],
    twin: {
      where: "on the host where descriptor 7 was left open",
      wrap: ["/bin/bash", "-c", 'exec 7<"$0"; exec "$@"', "/root"],
    },
  }),
  {
    section: "Host files",
    claim: "start in a folder that a leaked descriptor names",
    attempt: async ({ sandbox, stage }) => {
      const words = stage.fill(["read-up", "{canary}"]);
      for (const folder of ["self/fd/", "1/fd/"].flatMap((kind) =>
        [0, 1, 3, 4, 5, 6, 7, 8, 9, 10].map((fd) => `/proc/${kind}${fd}`),
      )) {
        const run = sandbox.exec({ command: ["/workspace/probe", ...words], cwd: folder, trackFiles: false });
        const result = await run.catch(() => null);
        if (result?.stdout.includes(stage.token)) return `the host from ${folder}`;
      }
      return null;
    },
    twin: hostTwin(["read-up", "{canary}"], {
      where: "on the host from /proc/self/fd/7",
      wrap: ["/bin/bash", "-c", 'exec 7<"$0"; cd /proc/self/fd/7 && exec "$@"', "/usr"],
    }),
  },
  {
    section: "Host files",
    claim: "overwrite a program of the host through /proc/self/exe",
    attempt: async (ground) => {
      const before = await hashPrograms();
      const result = await ground.sandbox.exec({
        command: ["/workspace/probe", "overwrite-program", "/usr/bin/sleep", "x"],
        trackFiles: false,
      });
      if ((await hashPrograms()) !== before) return "a changed program on the host";
      return reached({ ...result, exitCode: result.exit_code }, ground);
    },
    twin: {
      where: "on the host, a copy of one",
      attempt: async ({ stage }) => {
        const copy = await copyProgram(stage, "/usr/bin/sleep", "sleep");
        const before = await hashPrograms([copy]);
        await runProgramOnHost(stage, ["overwrite-program", copy, "x"]);
        return (await hashPrograms([copy])) === before ? null : "a changed program";
      },
    },
  },
];
