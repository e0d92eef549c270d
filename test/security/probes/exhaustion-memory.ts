import { sandboxLimits } from "../../../packages/server/src/core/limits.ts";
import type { Effect, Ground, Probe } from "../probe.ts";
import { hostTwin } from "../program-probe.ts";
import { answersOrLost, exhaust, MiB, mostReached, small, tookAll } from "./exhaustion.ts";

const section = "Exhaustion";
const memoryBytes = small.memoryBytes ?? 0;

/** More than the limit and everything that stands behind it. */
const wantedMB = 512;
const boundMB = (ground: Ground) => (memoryBytes + sandboxLimits.memoryHeadroomBytes[ground.engine]) / MiB;

interface MemoryBomb {
  claim: string;
  words: readonly string[];
  /** A tmpfs or the disk says no before memory does: then nothing is killed. */
  refused?: boolean;
  twinWords?: readonly string[];
  twinMB?: number;
}

async function explode(ground: Ground, bomb: MemoryBomb): Promise<Effect> {
  const ending = await exhaust(ground, bomb.words);
  const reached = mostReached(ending.text);
  if (reached > boundMB(ground)) return `${reached} MB of memory`;
  if (ending.loss !== undefined && ending.loss.details?.oom_killed !== true)
    return `a loss without its reason: ${ending.loss.message}`;
  const killed = ending.result?.oom_killed ?? true;
  if (bomb.refused && killed) return "the end of a run that should only be refused more";
  if (!bomb.refused && !killed)
    return `a result without oom_killed: ${JSON.stringify(ending.result)} after ${reached} MB`;
  return answersOrLost(ground);
}

const bombs: readonly MemoryBomb[] = [
  { claim: "take anonymous memory past its limit", words: ["fill-memory", String(wantedMB)] },
  { claim: "take shared memory past its limit", words: ["fill-shared", String(wantedMB)] },
  { claim: "take System V memory past its limit", words: ["fill-segments", String(wantedMB)] },
  { claim: "take memory past its limit by a memfd", words: ["fill-memfd", String(wantedMB)] },
  {
    claim: "take memory past its limit by /tmp",
    words: ["fill-file", "/tmp/fill", String(wantedMB)],
    refused: true,
    twinWords: ["fill-file", "{folder}/fill", "128"],
    twinMB: 128,
  },
  {
    claim: "take memory past its limit by /dev/shm",
    words: ["fill-file", "/dev/shm/fill", String(wantedMB)],
    refused: true,
    twinWords: ["fill-file", "/dev/shm/{mark}-fill", "128"],
    twinMB: 128,
  },
];

const memoryBombs: readonly Probe[] = bombs.map((bomb) => ({
  section,
  claim: bomb.claim,
  own: small,
  needs: "memory",
  attempt: (ground) => explode(ground, bomb),
  twin: hostTwin(
    bomb.twinWords ?? bomb.words.with(-1, "256"),
    { where: "on the host, where nothing limits it" },
    tookAll(bomb.twinMB ?? 256),
  ),
}));

/** Memory of the kernel that hangs on descriptors; it counts like any other, or there is little to be had. */
const bufferBombs: readonly Probe[] = ["unix", "tcp", "pipe"].map((kind) => ({
  section,
  claim: `take the kernel's memory past its limit by ${kind} buffers`,
  own: small,
  needs: "memory",
  attempt: async (ground) => {
    const ending = await exhaust(ground, ["fill-buffers", kind, String(wantedMB)], { timeoutMs: 20_000 });
    const reached = mostReached(ending.text);
    return reached > boundMB(ground) ? `${reached} MB of the kernel's memory` : answersOrLost(ground);
  },
  twin: hostTwin(["fill-buffers", kind, "32"], { where: "on the host, 32 MB of them" }, tookAll(32)),
}));

export const memoryExhaustion: readonly Probe[] = [
  ...memoryBombs,
  ...bufferBombs,
  {
    section,
    claim: "take memory past its limit by the page cache",
    needs: "memory",
    own: { memoryBytes: 64 * MiB, storageBytes: 512 * MiB },
    attempt: async (ground) => {
      const ending = await exhaust(ground, ["fill-file", "/workspace/fill", "256", "keep"]);
      if (mostReached(ending.text) < 256)
        return `an end after ${mostReached(ending.text)} MB: the cache is not given back`;
      const read = await ground.sandbox.exec({ command: "cat fill >/dev/null", trackFiles: false });
      if (read.exit_code !== 0 || read.oom_killed) return "the end of a run that only reads a file";
      const { memoryPeakBytes } = await ground.sandbox.stats();
      const bound = 64 * MiB + sandboxLimits.memoryHeadroomBytes[ground.engine];
      return memoryPeakBytes > bound ? `${memoryPeakBytes} bytes of memory` : answersOrLost(ground);
    },
    twin: hostTwin(
      ["fill-file", "{folder}/fill", "256"],
      { where: "on the host, as a file of that size" },
      tookAll(256),
    ),
  },
  {
    section,
    claim: "fill every tmpfs one after the other and take the sandbox's answer away without a word",
    own: { ...small, memoryBytes: 64 * MiB },
    attempt: async (ground) => {
      for (const path of ["/dev/shm/fill", "/tmp/fill", "/dev/shm/more"]) {
        const ending = await exhaust(ground, ["fill-file", path, "128", "keep"]);
        if (ending.loss !== undefined)
          return ending.loss.details?.oom_killed === true ? null : `a loss without its reason: ${ending.loss.message}`;
      }
      return answersOrLost(ground);
    },
    twin: hostTwin(["fill-file", "/dev/shm/{mark}-fill", "128"], { where: "on the host" }, tookAll(128)),
  },
];
