import { homedir } from "node:os";
import { join } from "node:path";
import { env, geteuid } from "node:process";

/** What the environment says. The only place that reads it. */
export interface Environment {
  home: string;
  /** The checkout, or wherever the launcher lies. */
  root: string;
  /** Everything, for `--env NAME` to take values from. */
  variables: Readonly<Record<string, string | undefined>>;
  noColor: boolean;
  /** CAISSON_DEBUG: errors show their stack. */
  debug: boolean;
  /** CAISSON_RUNSC and CAISSON_RUNC: runtimes that do not lie where system programs do. */
  runtimePaths: { gvisor?: string; container?: string };
}

export function readEnvironment(): Environment {
  const isRoot = geteuid?.() === 0;
  return {
    home: env.CAISSON_HOME ?? (isRoot ? "/var/lib/caisson" : join(homedir(), ".caisson")),
    root: env.CAISSON_ROOT ?? join(import.meta.dirname, "../../../.."),
    variables: env,
    debug: env.CAISSON_DEBUG === "1",
    noColor: env.NO_COLOR !== undefined && env.NO_COLOR !== "",
    runtimePaths: {
      ...(env.CAISSON_RUNSC === undefined ? {} : { gvisor: env.CAISSON_RUNSC }),
      ...(env.CAISSON_RUNC === undefined ? {} : { container: env.CAISSON_RUNC }),
    },
  };
}
