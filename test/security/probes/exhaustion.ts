import type { SandboxLimits } from "../../../packages/server/src/core/engine.ts";
import { AppError } from "../../../packages/server/src/core/errors.ts";
import type { RunLimits, RunResult } from "../../../packages/server/src/core/run.ts";
import type { Seen } from "../host-run.ts";
import type { Effect, Ground } from "../probe.ts";
import { isLoss, probePath } from "../program-probe.ts";

export const MiB = 1024 * 1024;
/** Small, so that going past them is quick. */
export const small: Partial<SandboxLimits> = { memoryBytes: 128 * MiB, storageBytes: 64 * MiB, processes: 32 };

/** How a run that exhausts something ended: with a result, or with the loss of its sandbox, said clearly. */
export interface Ending {
  result?: RunResult;
  loss?: AppError;
  text: string;
}

/** Runs the program and keeps what it said, also where the sandbox is lost meanwhile. */
export async function exhaust(
  ground: Ground,
  words: readonly string[],
  limits: Partial<RunLimits> = {},
): Promise<Ending> {
  let text = "";
  const run = await ground.sandbox.start({
    command: [probePath, ...words],
    trackFiles: false,
    limits,
    onOutput: (_channel, chunk) => {
      if (text.length < 4 * MiB) text += chunk.toString("latin1");
      return undefined;
    },
  });
  try {
    return { result: await run.result, text };
  } catch (error) {
    if (!isLoss(error)) throw error;
    return { loss: error, text };
  }
}

/** The largest N of the lines `reached N`. */
export function mostReached(text: string): number {
  return Math.max(0, ...[...text.matchAll(/^reached (\d+)$/gm)].map((match) => Number(match[1])));
}

/** For twins: where nothing limits it, the program takes all it was told to. */
export const tookAll =
  (wanted: number) =>
  (seen: Seen): Effect =>
    mostReached(seen.stdout) >= wanted ? `all ${wanted}` : null;

/** The sandbox answers, or was lost with a reason; null then, as no effect. */
export async function answersOrLost(ground: Ground): Promise<Effect> {
  try {
    const answer = await ground.sandbox.exec({
      command: ["/bin/true"],
      trackFiles: false,
      limits: { timeoutMs: 20_000 },
    });
    if (answer.exit_code === 0) return null;
    if (answer.oom_killed) return null; // what the run before it left in memory is still held
    return `a sandbox that answers ${answer.exit_code}${answer.timed_out ? ", out of time" : ""}`;
  } catch (error) {
    return isLoss(error) && error.message.length > 0 ? null : `a sandbox that fails with ${describe(error)}`;
  }
}

function describe(error: unknown): string {
  return error instanceof AppError ? `${error.code}: ${error.message}` : String(error);
}
