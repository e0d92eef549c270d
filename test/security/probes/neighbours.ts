import { join } from "node:path";
import { Holder } from "../host-run.ts";
import type { Ground, Probe } from "../probe.ts";
import {
  type HostTwin,
  holdInSandbox,
  neighbourTwin,
  type ProgramProbe,
  programProbe,
  reached,
  runProgramOnHost,
  tryInSandbox,
} from "../program-probe.ts";

const section = "Other sandboxes and the daemon";
const asUser: HostTwin = {
  where: "on the host as an ordinary user",
  wrap: ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"],
};
const probe = (rest: Omit<ProgramProbe, "section">): Probe => programProbe({ section, ...rest });

/** The same words in the sandbox that holds the thing. */
const owned = (claim: string, ...words: string[]): Probe =>
  probe({ claim, words, twin: neighbourTwin(words, "in the sandbox that has it") });

/** gVisor has no POSIX message queues of this age: the neighbour there holds none, and the probe's twin is the host's. */
const neighbourQueue: Probe = probe({
  claim: "read a message queue of a neighbour",
  words: ["read-queue", "{neighbourMark}"],
  twin: {
    where: "in the sandbox that has it, where the engine knows such queues",
    inSandbox: true,
    attempt: async (ground) => {
      const where = ground.engine === "container" ? { ...ground, sandbox: ground.neighbour } : null;
      if (where === null) return reached(await runProgramOnHost(ground.stage, ["read-queue", "{mark}"]), ground);
      const seen = await tryInSandbox(where, ground.stage.fill(["read-queue", "{neighbourMark}"]));
      return typeof seen === "string" ? null : reached(seen, ground);
    },
  },
});

/** In a pid namespace of its own, so that it looks at nobody else's processes. */
const seenTwin: HostTwin = {
  where: "on the host in a pid namespace of its own",
  wrap: [
    "unshare",
    "--pid",
    "--fork",
    "--mount-proc",
    "/bin/bash",
    "-c",
    '(exec -a "$0" sleep 30) & "$@"; kill $!',
    "{mark}",
  ],
};

async function signalVictim(ground: Ground, words: string[]): Promise<string | null> {
  const seen = await tryInSandbox(ground, words);
  if (typeof seen === "string") return seen;
  return ground.stage.victim.alive ? null : "the end of a process of the host";
}

export const neighbours: readonly Probe[] = [
  owned("read a neighbour's loopback port", "read-port", "{neighbourPort}"),
  owned("reach a neighbour's abstract Unix socket", "read-abstract", "{neighbourMark}"),
  owned("read a neighbour's System V memory and queues", "read-system-v", "{neighbourKey}"),
  owned("read a neighbour's /dev/shm", "read", "/dev/shm/{neighbourMark}", "/dev/shm"),
  neighbourQueue,
  owned("see a neighbour's processes", "see", "{neighbourBackwards}"),
  probe({ claim: "read System V memory and queues of the host", words: ["read-system-v", "{key}"], twin: asUser }),
  probe({ claim: "read the host's /dev/shm", words: ["read", "/dev/shm/{mark}"], twin: asUser }),
  probe({
    claim: "read a message queue of the host",
    words: ["read-queue", "{mark}"],
    twin: { where: "on the host as root" },
  }),
  probe({ claim: "see processes of the host", words: ["see", "{backwards}"], twin: seenTwin }),
  {
    section,
    claim: "signal a process of the host by its number",
    attempt: (ground) => signalVictim(ground, ["signal", String(ground.stage.victim.pid), "1", "64"]),
    twin: {
      where: "on the host, one that the test started",
      attempt: async ({ stage }) => {
        await using victim = await Holder.start([stage.program, "hold-file", join(stage.folder, "signalled"), "x"]);
        await runProgramOnHost(stage, ["signal", String(victim.pid), "15", "15"]);
        await victim.ended;
        return "the end of that process";
      },
    },
  },
  {
    section,
    claim: "end a neighbour's processes, the host's or the guest by signalling everybody",
    own: {},
    attempt: async (ground) => {
      await using held = await holdInSandbox(ground.neighbour, ["sleep-for-ever"]);
      const effect = await signalVictim(ground, ["signal-everybody"]);
      const ended = await Promise.race([
        held.result,
        ground.neighbour.exec({ command: ["/bin/true"], trackFiles: false }),
      ]);
      if (ended.signal !== null) return "the end of a neighbour's process";
      const answer = await ground.sandbox.exec({ command: ["/bin/true"], trackFiles: false });
      return effect ?? (answer.exit_code === 0 ? null : "the end of its own sandbox");
    },
    twin: {
      where: "in a pid namespace of its own",
      attempt: async ({ stage }) => {
        const script = '"$1" sleep-for-ever >/dev/null & pid=$!; "$1" signal-everybody; wait $pid; echo "ended by $?"';
        const seen = await runProgramOnHost(stage, [], {
          wrap: ["unshare", "--pid", "--fork", "--mount-proc", "/bin/bash", "-c", script, "sh"],
        });
        return seen.stdout.includes("ended by 137") ? "the end of another process" : null;
      },
    },
  },
];
