import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { AppError } from "../../packages/server/src/core/errors.ts";
import type { RunLimits, RunResult } from "../../packages/server/src/core/run.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { runOnHost, type Seen } from "./host-run.ts";
import type { Effect, Ground, Probe, Section, Twin } from "./probe.ts";
import type { Stage } from "./stage.ts";

/** Where the probe program lies in every sandbox of the suite. */
export const probePath = "/workspace/probe";

export type Judge = (seen: Seen, ground: Ground) => Effect | Promise<Effect>;

/** A probe that is one word of the probe program, with {names} of the stage in its arguments. */
export interface ProgramProbe {
  section: Section;
  claim: string;
  words: readonly string[];
  /** `reached` unless told. */
  judge?: Judge;
  twin: Twin | HostTwin;
  own?: Probe["own"];
  limits?: Partial<RunLimits>;
}

/** The same words on the host, as root. */
export interface HostTwin {
  where: string;
  /** In front of the program: a namespace, a chroot, another user. */
  wrap?: readonly string[];
  /** Instead of the probe's own words. */
  words?: readonly string[];
  plainRoot?: boolean;
  /** Where the program lies, for a wrap that changes the root. */
  program?: string;
}

/** Told by a kernel that writes it down and never acts on it: no effect, on that engine. */
const recordedOnly: Partial<Record<EngineName, RegExp>> = {
  // gVisor keeps nice values and processor masks of its tasks, and schedules by neither.
  gvisor: /^GAINED (a better priority|the (priority|processors) of process \d+)$/,
};

/** The program said that it gained something, or told a secret. */
export const reached: Judge = (seen, { stage, engine }) => {
  const lines = `${seen.stdout}\n${seen.stderr}`.split("\n");
  const found = lines
    .filter((line) => line.startsWith("GAINED ") || line.includes(stage.token))
    .filter((line) => recordedOnly[engine]?.test(line) !== true);
  return found.length === 0 ? null : found.slice(0, 4).join("; ").slice(0, 300);
};

export function programProbe(probe: ProgramProbe): Probe {
  const judge = probe.judge ?? reached;
  const made: Probe = {
    section: probe.section,
    claim: probe.claim,
    attempt: async (ground) => {
      const seen = await tryInSandbox(ground, ground.stage.fill(probe.words, ground.values), probe.limits);
      return typeof seen === "string" ? seen : judge(seen, ground);
    },
    twin: "attempt" in probe.twin ? probe.twin : hostTwin(probe.words, probe.twin, judge),
  };
  if (probe.own !== undefined) made.own = probe.own;
  return made;
}

export function hostTwin(words: readonly string[], twin: HostTwin, judge: Judge = reached): Twin {
  return {
    where: twin.where,
    plainRoot: twin.plainRoot ?? false,
    attempt: async (ground) => judge(await runProgramOnHost(ground.stage, words, twin), ground),
  };
}

/** In the neighbour, which owns what the probe is after. */
export function neighbourTwin(words: readonly string[], where: string, judge: Judge = reached): Twin {
  return {
    where,
    inSandbox: true,
    attempt: async (ground) => {
      const seen = await tryInSandbox(
        { ...ground, sandbox: ground.neighbour },
        ground.stage.fill(words, ground.values),
      );
      return typeof seen === "string" ? null : judge(seen, ground);
    },
  };
}

export async function runProgramOnHost(
  stage: Stage,
  words: readonly string[],
  twin: Omit<HostTwin, "where"> = {},
): Promise<Seen> {
  const command = [...(twin.wrap ?? []), twin.program ?? stage.program, ...(twin.words ?? words)];
  return runOnHost(stage.fill(command), { cwd: stage.folder });
}

function seenOf(result: RunResult): Seen {
  return { stdout: result.stdout, stderr: result.stderr, exitCode: result.exit_code, signal: result.signal };
}

/** What the program left, or in words how the sandbox was lost by it. */
export async function tryInSandbox(
  ground: Pick<Ground, "sandbox">,
  words: readonly string[],
  limits: Partial<RunLimits> = {},
): Promise<Seen | string> {
  try {
    const result = await ground.sandbox.exec({ command: [probePath, ...words], trackFiles: false, limits });
    if (result.timed_out) throw new Error(`not judged, since it did not end in time: ${words.join(" ")}`);
    if (result.exit_code === 64) throw new Error(`the probe program does not take these words: ${words.join(" ")}`);
    return seenOf(result);
  } catch (error) {
    if (isLoss(error)) return `the sandbox is lost: ${error.message}`;
    throw error;
  }
}

export function isLoss(error: unknown): error is AppError {
  return error instanceof AppError && error.details?.sandbox_lost === true;
}

/** A program in a sandbox that holds something until it is let go; resolves when it has said `ready`. */
export async function holdInSandbox(sandbox: Sandbox, words: readonly string[]): Promise<SandboxHolder> {
  const ready = Promise.withResolvers<string[]>();
  const release = Promise.withResolvers<void>();
  let text = "";
  const run = await sandbox.start({
    command: [probePath, ...words],
    trackFiles: false,
    limits: { timeoutMs: 0 },
    stdin: waitForRelease(release.promise),
    onOutput: (_channel, chunk) => {
      text += chunk.toString();
      const line = text.split("\n").find((line) => line.startsWith("ready"));
      if (line !== undefined) ready.resolve(line.split(" ").slice(1));
      return undefined;
    },
  });
  run.result.then(
    (result) => ready.reject(new Error(`${words.join(" ")} ended with ${result.exit_code}: ${text}`)),
    (error) => ready.reject(error),
  );
  return {
    words: await ready.promise,
    result: run.result,
    text: () => text,
    [Symbol.asyncDispose]: async () => {
      release.resolve();
      run.kill();
      await run.result.catch(() => undefined);
    },
  };
}

export interface SandboxHolder extends AsyncDisposable {
  words: string[];
  result: Promise<RunResult>;
  text: () => string;
}

/** Standard input that gives nothing, and ends when it is let go. */
function waitForRelease(release: Promise<void>): AsyncIterable<Uint8Array> {
  const next = () => release.then(() => ({ done: true as const, value: undefined }));
  return { [Symbol.asyncIterator]: () => ({ next }) };
}
