import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { EngineName } from "../../../packages/server/src/core/engine.ts";
import { sandboxLimits } from "../../../packages/server/src/core/limits.ts";
import { Holder } from "../host-run.ts";
import type { Effect, Ground, Probe } from "../probe.ts";
import { holdInSandbox, hostTwin, runProgramOnHost } from "../program-probe.ts";
import { answersOrLost, exhaust, MiB, mostReached, small, tookAll } from "./exhaustion.ts";

const section = "Exhaustion";
const processes = small.processes ?? 0;
const storageMB = (small.storageBytes ?? 0) / MiB;

/** Takes as many as it can get, which must be no more than the limit. */
function counted(
  claim: string,
  words: readonly string[],
  limit: number,
  wanted: number,
  twin: readonly string[] = words,
): Probe {
  return {
    section,
    claim,
    own: small,
    attempt: async (ground) => {
      const ending = await exhaust(ground, words);
      const reached = mostReached(ending.text);
      if (reached > limit) return `${reached} of them, with a limit of ${limit}`;
      if (reached === 0) return `none at all: ${ending.text}`;
      return answersOrLost(ground);
    },
    twin: hostTwin(twin, { where: "on the host, where the limit is higher" }, tookAll(wanted)),
  };
}

/** Bytes that the data folder really takes on the host's disk. */
async function diskBytes(folder: string): Promise<number> {
  let total = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])) {
    const info = entry.isFile() ? await stat(join(entry.parentPath, entry.name)).catch(() => null) : null;
    total += (info?.blocks ?? 0) * 512;
  }
  return total;
}

async function fillsDisk(ground: Ground, words: readonly string[]): Promise<Effect> {
  const home = ground.stage.values.home ?? "";
  const before = await diskBytes(home);
  const ending = await exhaust(ground, words);
  const reached = mostReached(ending.text);
  if (reached > storageMB) return `${reached} MB of ${storageMB}`;
  const grown = (await diskBytes(home)) - before;
  if (grown > (storageMB + 16) * MiB) return `${grown} bytes of the host's disk`;
  await ground.neighbour.files.write("after-the-flood", "dry");
  return answersOrLost(ground);
}

/**
 * What the machine or one of its users has a fixed number of: the sandbox takes all it can, others must find some left.
 * Under gVisor these are the sentry's own, and slow to take: a few thousand show as much.
 */
function shared(claim: string, word: string, wanted: Record<EngineName, number>, few: number): Probe {
  return {
    section,
    claim,
    own: { processes: 64, storageBytes: 64 * MiB },
    attempt: async (ground) => {
      await using held = await holdInSandbox(ground.sandbox, [word, String(wanted[ground.engine])]).catch(() => null);
      if (held === null) return null;
      const reached = mostReached(held.text());
      if (reached === 0) return null; // the filter gives none to anybody
      await using host = await Holder.start([ground.stage.program, word, String(few)], ground.stage.folder);
      if (mostReached(host.text) < few) return `all that the host's root has: ${reached} were taken`;
      await using neighbour = await holdInSandbox(ground.neighbour, [word, String(few)]);
      return mostReached(neighbour.text()) < few ? `all that a neighbour has: ${reached} were taken` : null;
    },
    twin: hostTwin([word, String(few)], { where: "on the host, a few of them" }, tookAll(few)),
  };
}

export const countExhaustion: readonly Probe[] = [
  counted("make more processes than its limit", ["fork", "200"], processes, 200),
  counted("make more threads than its limit", ["threads", "300"], processes, 300),
  counted("open more files than its limit", ["open-files", "6000"], sandboxLimits.openFiles, 6000),
  {
    ...counted("make more files than its disk has inodes", ["make-files", "/workspace/many", "100000"], 99_999, 3000, [
      "make-files",
      "{folder}/many",
      "3000",
    ]),
    needs: "storage",
  },
  {
    section,
    claim: "outrun its end by a fork bomb",
    own: small,
    attempt: async (ground) => {
      const ending = await exhaust(ground, ["fork-for-ever", "20000"], { timeoutMs: 2_000 });
      if (ending.result !== undefined && !ending.result.timed_out)
        return `a result without timed_out: ${JSON.stringify(ending.result)}`;
      return answersOrLost(ground);
    },
    twin: {
      where: "in a pid namespace of its own, as a user who may have 60 processes",
      attempt: async ({ stage }) => {
        const bomb = 'ulimit -u 60; exec setpriv --reuid=47999 --regid=47999 --clear-groups "$1" fork-for-ever 1000';
        const script = `(${bomb}) & for round in {1..200}; do set -- "$1" /proc/[0-9]*; [ $# -gt 40 ] && break; sleep 0.01; done; echo "reached $#"`;
        const seen = await runProgramOnHost(stage, [], {
          wrap: ["unshare", "--pid", "--fork", "--mount-proc", "/bin/bash", "-c", script, "sh"],
        });
        return tookAll(40)(seen);
      },
    },
  },
  {
    section,
    claim: "fill the host's disk or a neighbour's",
    needs: "storage",
    own: small,
    attempt: (ground) => fillsDisk(ground, ["fill-file", "/workspace/fill", "200", "keep"]),
    twin: hostTwin(["fill-file", "{folder}/fill", "200"], { where: "on the host" }, tookAll(200)),
  },
  {
    section,
    claim: "fill the host's disk by its home folder",
    needs: "storage",
    own: small,
    attempt: (ground) => fillsDisk(ground, ["fill-file", "/home/user/fill", "200", "keep"]),
    twin: hostTwin(["fill-file", "{folder}/fill", "200"], { where: "on the host" }, tookAll(200)),
  },
  {
    section,
    claim: "lie about its size by a sparse file, to the disk or to whoever looks for changes",
    needs: "storage",
    own: small,
    attempt: async (ground) => {
      const effect = await fillsDisk(ground, ["sparse", "/workspace/sparse", "1000", "200"]);
      if (effect !== null) return effect;
      const looked = await ground.sandbox.exec({ command: "rm sparse; truncate -s 1000G sparse", trackFiles: true });
      const change = looked.files_changed.find((row) => row.path === "sparse");
      return change?.size_bytes === 1000 * 1024 ** 3 ? null : `a change that tells ${JSON.stringify(change)}`;
    },
    twin: hostTwin(["sparse", "{folder}/sparse", "1000", "100"], { where: "on the host" }, tookAll(100)),
  },
  shared("take every pseudo-terminal of the machine", "take-terminals", { container: 4_000, gvisor: 4_000 }, 4),
  shared("take every inotify instance of the host's root", "take-watchers", { container: 1_000, gvisor: 1_000 }, 4),
  shared("take every inotify watch of the host's root", "take-watches", { container: 200_000, gvisor: 5_000 }, 4),
  shared("take every message queue of the host's root", "take-queues", { container: 200, gvisor: 200 }, 1),
  shared(
    "take the machine's places for asynchronous input and output",
    "take-requests",
    { container: 100_000, gvisor: 8_192 },
    4,
  ),
  shared("take every pending signal of the host's root", "take-timers", { container: 200_000, gvisor: 5_000 }, 4),
];
