import type { Ground, Probe } from "../probe.ts";
import { holdInSandbox, hostTwin, neighbourTwin, probePath, runProgramOnHost, tryInSandbox } from "../program-probe.ts";
import { answersOrLost, exhaust, MiB, small } from "./exhaustion.ts";

const section = "Exhaustion";
const outputBytes = 1_000_000;
/** What this process may grow by, garbage not yet collected included, while a gigabyte passes through it. */
const heldBytes = 256 * MiB;

/** Floods, with a result that holds no more than it may. */
async function flood(
  ground: Ground,
  words: string[],
  channel: "stdout" | "stderr",
  timeoutMs: number,
  endless: boolean,
) {
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const result = await ground.sandbox.exec({
    command: [probePath, ...words],
    trackFiles: false,
    limits: { timeoutMs, outputBytes },
  });
  const grown = process.memoryUsage().rss - before;
  if (!result.truncated) return "a result that is not marked as truncated";
  if (Buffer.byteLength(result[channel]) > outputBytes) return `${result[channel].length} bytes in the result`;
  if (grown > heldBytes) return `${grown} bytes of the daemon's memory`;
  if (result.timed_out !== endless) return `timed_out ${result.timed_out}`;
  return answersOrLost(ground);
}

const floodTwin = hostTwin(["flood", "1", "100000", "80"], { where: "on the host" }, (seen) =>
  seen.stdout.length === 100_000 ? "as many bytes as asked" : null,
);

const timeoutTwin = (word: string, signal: string): Probe["twin"] => ({
  where: `on the host, where ${signal} does not end it`,
  attempt: async ({ stage }) => {
    const script = `"$1" ${word} & pid=$!; while [ "$(cut -d ' ' -f 3 /proc/$pid/stat)" = R ]; do :; done; kill -${signal} $pid; kill -0 $pid && echo "survived"; kill -KILL $pid`;
    const seen = await runProgramOnHost(stage, [], {
      wrap: ["unshare", "--pid", "--fork", "--mount-proc", "/bin/bash", "-c", script, "sh"],
    });
    return seen.stdout.includes("survived") ? "its survival" : null;
  },
});

export const outputExhaustion: readonly Probe[] = [
  {
    section,
    claim: "flood its caller by stdout",
    own: small,
    attempt: (ground) => flood(ground, ["flood", "1", "0", "80"], "stdout", 1_500, true),
    twin: floodTwin,
  },
  {
    section,
    claim: "flood its caller by stderr",
    own: small,
    attempt: (ground) => flood(ground, ["flood", "2", "0", "80"], "stderr", 1_500, true),
    twin: floodTwin,
  },
  {
    section,
    claim: "have a line of 1 GB held in memory",
    own: small,
    attempt: (ground) => flood(ground, ["flood", "1", String(1024 * MiB), "0"], "stdout", 50_000, false),
    twin: floodTwin,
  },
  {
    section,
    claim: "block others by output that nobody reads",
    own: small,
    attempt: async (ground) => {
      const read = Promise.withResolvers<void>();
      const run = await ground.sandbox.start({
        command: [probePath, "flood", "1", "0", "80"],
        trackFiles: false,
        onOutput: () => read.promise,
      });
      const effect = await answersOrLost(ground);
      run.kill();
      read.resolve(); // a result comes after all output was taken
      const result = await run.result;
      return effect ?? (result.signal === "SIGKILL" ? null : `an end by ${result.signal}`);
    },
    twin: floodTwin,
  },
  {
    section,
    claim: "use more processors than it has",
    needs: "cpu",
    own: { ...small, cpus: 0.5 },
    attempt: async (ground) => {
      // The host's count: gVisor's own takes for computing what its processes wait for a quota.
      const before = (await ground.sandbox.stats()).cpuMs;
      const ending = await exhaust(ground, ["spin", "4", "2000"]);
      if (ending.result === undefined) return answersOrLost(ground);
      const used = ((await ground.sandbox.stats()).cpuMs - before) / ending.result.duration_ms;
      return used > 0.5 * 1.4 ? `${used.toFixed(2)} processors` : answersOrLost(ground);
    },
    twin: hostTwin(["spin", "4", "300"], { where: "on the host, on two processors" }, (seen) =>
      seen.stdout.includes("ready") ? "busy processors" : null,
    ),
  },
  {
    section,
    claim: "compute past its limit of processor time",
    own: small,
    attempt: async (ground) => {
      const { result } = await exhaust(ground, ["spin", "2", "0"], { cpuTimeMs: 1_000, timeoutMs: 20_000 });
      if (result?.cpu_limit !== true || result.timed_out) return `a result of ${JSON.stringify(result)}`;
      return answersOrLost(ground);
    },
    twin: hostTwin(["spin", "2", "300"], { where: "on the host" }, (seen) =>
      seen.exitCode === 0 ? "its full time" : null,
    ),
  },
  {
    section,
    claim: "sleep past its timeout",
    own: small,
    attempt: async (ground) => {
      const { result } = await exhaust(ground, ["sleep-for-ever"], { timeoutMs: 500 });
      if (result?.timed_out !== true || result.cpu_limit || result.oom_killed)
        return `a result of ${JSON.stringify(result)}`;
      return answersOrLost(ground);
    },
    twin: timeoutTwin("sleep-for-ever", "WINCH"),
  },
  {
    section,
    claim: "outlive its timeout by ignoring signals",
    own: small,
    attempt: async (ground) => {
      const { result } = await exhaust(ground, ["ignore-signals", "30000"], { timeoutMs: 500 });
      if (result?.timed_out !== true) return `a result of ${JSON.stringify(result)}`;
      return result.duration_ms < 10_000 ? answersOrLost(ground) : `${result.duration_ms} ms`;
    },
    twin: timeoutTwin("ignore-signals 30000", "TERM"),
  },
  ...["", "hold"].map(
    (kind): Probe => ({
      section,
      claim: `leave a daemon behind that outlives its run${kind ? " and keeps its output open" : ""}`,
      own: small,
      attempt: async (ground) => {
        const { mark, backwards } = ground.stage.values;
        const { result } = await exhaust(ground, ["daemon", `${mark}-daemon`, ...(kind ? [kind] : [])], {
          timeoutMs: 10_000,
        });
        if (result === undefined || result.timed_out) return `a run that does not end: ${JSON.stringify(result)}`;
        const seen = await tryInSandbox(ground, ["see", `nomead-${backwards}`]);
        if (typeof seen === "string") return seen;
        return seen.stdout.includes("GAINED") ? "a daemon that lives on" : null;
      },
      twin: {
        where: "on the host in a pid namespace of its own",
        attempt: async ({ stage }) => {
          const script = '"$1" daemon "$0-daemon"; "$1" see nomead-"$(echo "$0" | rev)"';
          const seen = await runProgramOnHost(stage, [], {
            wrap: ["unshare", "--pid", "--fork", "--mount-proc", "/bin/bash", "-c", script, stage.mark],
          });
          return seen.stdout.includes("GAINED") ? "a daemon that lives on" : null;
        },
      },
    }),
  ),
  {
    section,
    claim: "keep its run from ending by opening its own output again",
    own: small,
    attempt: async (ground) => {
      const result = await ground.sandbox.exec({
        command: [probePath, "reopen-output"],
        trackFiles: false,
        limits: { timeoutMs: 10_000 },
      });
      if (result.timed_out || result.exit_code !== 0) return `a result of ${JSON.stringify(result)}`;
      return result.stdout.startsWith("first words\n") ? answersOrLost(ground) : `another output: ${result.stdout}`;
    },
    twin: neighbourTwin(["reopen-output"], "in a sandbox: it writes by that name", (seen) =>
      seen.stdout.includes("by another name") || seen.stdout.includes("last words") ? "its words" : null,
    ),
  },
  {
    section,
    claim: "have more streams opened than there are",
    own: { processes: 512 },
    attempt: async (ground) => {
      const calls = Array.from({ length: 400 }, () =>
        ground.sandbox.files.stat("probe").then(
          () => "ok",
          () => "refused",
        ),
      );
      await Promise.all(calls);
      // A slot is free again a moment after its call has ended: the guest may say so once or twice.
      const deadline = performance.now() + 10_000;
      let effect = await answersOrLost(ground);
      while (effect?.includes("too many streams") && performance.now() < deadline) effect = await answersOrLost(ground);
      return effect;
    },
    twin: {
      where: "in a sandbox, ten of them",
      inSandbox: true,
      attempt: async (ground) => {
        await using held = await holdInSandbox(ground.neighbour, ["sleep-for-ever"]);
        const rows = await Promise.all(Array.from({ length: 10 }, () => ground.neighbour.files.stat("probe")));
        return held.words.length === 0 && rows.length === 10 ? "ten answers" : null;
      },
    },
  },
];
