import type { Ground, Probe } from "../probe.ts";
import {
  type HostTwin,
  holdInSandbox,
  hostTwin,
  neighbourTwin,
  type ProgramProbe,
  programProbe,
  reached,
  runProgramOnHost,
  tryInSandbox,
} from "../program-probe.ts";

const section = "Other sandboxes and the daemon";
const onVictim: HostTwin = { where: "on the host as root, of a process that the test started" };

/** For one run among 60 that compute, on one processor of a busy machine. */
const answerMs = 40_000;

/** Whatever the program says of itself, the sandbox must answer afterwards. */
async function attack(ground: Ground, words: readonly string[]): Promise<string | null> {
  const seen = await tryInSandbox(ground, words);
  if (typeof seen === "string") return seen;
  const answer = await ground.sandbox.exec({ command: ["/bin/true"], trackFiles: false });
  if (answer.exit_code !== 0) return `a sandbox that answers ${answer.exit_code}`;
  return reached(seen, ground);
}

const byGuest = (claim: string, words: string[], twin: ProgramProbe["twin"]): Probe => ({
  ...programProbe({ section, claim, words, twin }),
  attempt: (ground) => attack(ground, words),
});
const twinOf = (...words: string[]): HostTwin => ({ ...onVictim, words });

/** Signals are tried on a process that ignores them all but the last two, which nobody can. */
const signalTwin: ProgramProbe["twin"] = hostTwin(["signal", "{victim}", "0", "0"], { where: "on the host as root" });

/** Calls to the sandbox that must come to an end, well or ill, while user code disturbs them. */
async function callsEnd(ground: Ground, disturbance: string[]): Promise<string | null> {
  await using other = await holdInSandbox(ground.sandbox, disturbance);
  const calls = {
    "a run": () => ground.sandbox.exec({ command: ["/bin/true"], trackFiles: false, limits: { timeoutMs: 2_000 } }),
    "a file's reading": async () => {
      for await (const _chunk of ground.sandbox.files.read("probe"));
    },
    "a listing": () => ground.sandbox.files.list(""),
    "a file's writing": () => ground.sandbox.files.write("disturbed", "text"),
  };
  for (const [name, call] of Object.entries(calls)) {
    const patience = AbortSignal.timeout(15_000);
    const late = new Promise<string>((resolve) => patience.addEventListener("abort", () => resolve(name)));
    const done = call().then(
      () => null,
      () => null,
    );
    const outcome = await Promise.race([done, late]);
    if (outcome !== null) return `${outcome} that never ends`;
  }
  await other.result.catch(() => undefined);
  const after = await ground.sandbox.exec({ command: ["/bin/true"], trackFiles: false });
  return after.exit_code === 0 ? null : "a sandbox that no longer answers";
}

export const guest: readonly Probe[] = [
  byGuest("trace the guest", ["trace", "guest"], twinOf("trace", "{victim}")),
  byGuest("read or write the guest's memory", ["read-memory", "guest"], twinOf("read-memory", "{victim}")),
  byGuest(
    "take the guest's descriptors, its wire among them",
    ["take-descriptors", "guest"],
    twinOf("take-descriptors", "{victim}"),
  ),
  byGuest("read the guest's environment", ["read-environment", "guest"], twinOf("read-environment", "{victim}")),
  byGuest("end or stop the guest by a signal", ["signal", "guest", "1", "64"], signalTwin),
  byGuest("starve the guest by its limits, priority or processors", ["limit", "guest"], twinOf("limit", "{victim}")),
  {
    section,
    claim: "take over a process of the guest before it has become user code",
    attempt: async (ground) => {
      await using watcher = await holdInSandbox(ground.sandbox, ["watch-newborns", "2000"]);
      const runs = (async () => {
        for (let i = 0; i < 40; i++) {
          await ground.sandbox.exec({ command: ["/bin/true"], trackFiles: false });
          await ground.sandbox.files.stat("probe");
        }
      })();
      await Promise.all([runs, watcher.result]);
      return reached({ stdout: watcher.text(), stderr: "", exitCode: 0, signal: null }, ground);
    },
    twin: {
      where: "on the host in a pid namespace of its own, of a process of that name",
      attempt: async (ground) => {
        const script =
          'cp "$1" "$0/guest" && { "$0/guest" sleep-for-ever >/dev/null & pid=$!; "$1" watch-newborns 300; kill $pid; }';
        const seen = await runProgramOnHost(ground.stage, [], {
          wrap: ["unshare", "--pid", "--fork", "--mount-proc", "/bin/bash", "-c", script, "{folder}"],
        });
        return reached(seen, ground);
      },
    },
  },
  {
    section,
    claim: "keep the guest from answering by 60 busy loops",
    own: { processes: 128, cpus: 1 },
    attempt: async (ground) => {
      await using _loops = await holdInSandbox(ground.sandbox, ["spin", "60", "0"]);
      const command = { command: ["/bin/true"], trackFiles: false, limits: { timeoutMs: answerMs } };
      const answer = await ground.sandbox.exec(command);
      return answer.exit_code === 0 ? null : `no answer in ${answerMs} ms`;
    },
    twin: neighbourTwin(["spin", "2", "200"], "in a sandbox, two of them", (seen) =>
      seen.stdout.includes("ready") ? "busy loops" : null,
    ),
  },
  {
    section,
    claim: "stop the calls of others by SIGSTOP to whatever it sees",
    own: {},
    attempt: (ground) => callsEnd(ground, ["stop-others", "3000"]),
    twin: disturbanceTwin("stop-others", "T"),
  },
  {
    section,
    claim: "leave the calls of others hanging by SIGKILL to whatever it sees",
    own: {},
    attempt: (ground) => callsEnd(ground, ["kill-others", "3000"]),
    twin: disturbanceTwin("kill-others", ""),
  },
];

/** In a pid namespace of its own, against a process that does nothing: afterwards its state is the one looked for. */
function disturbanceTwin(word: string, state: string): Probe["twin"] {
  return {
    where: "in a pid namespace of its own",
    attempt: async ({ stage }) => {
      const script = [
        '"$1" sleep-for-ever >/dev/null & pid=$!',
        `"$1" ${word} 100`,
        "read -r _ _ state _ </proc/$pid/stat",
        'echo "state=$state"',
        "kill -9 $pid",
      ].join("\n");
      const seen = await runProgramOnHost(stage, [], {
        wrap: ["unshare", "--pid", "--fork", "--mount-proc", "/bin/bash", "-c", script, "sh"],
      });
      const found = /state=(\w?)/.exec(seen.stdout)?.[1];
      return found === state || (state === "" && found === "Z") ? `a process in state '${found}'` : null;
    },
  };
}
