/** Errors of builds: the step, what went wrong, and what its deployer can do. */
import { StepFailure } from "../core/build-script.ts";
import { AppError, type ErrorCode, messageOf } from "../core/errors.ts";
import { hidePaths } from "../lib/hide-paths.ts";
import { serverBuildLimits } from "./build-limits.ts";
import { serverLimits } from "./limits.ts";
import { archiveHint } from "./sources/spool-archive.ts";

interface Cause {
  pattern: RegExp;
  hint: string;
}

const reach = "a build reaches the package registries of the daemon's machine and nothing else, with GET requests";
const disk = `a build has ${serverBuildLimits.storageBytes / 1024 ** 3} GB of disk: leave out what the server does not need`;

const size = `an archive may hold ${serverLimits.unpackedBytes / 1024 ** 3} GB in ${serverLimits.archiveEntries} files and folders: leave out what the server does not need`;

/** The first that fits counts. */
const causes: readonly Cause[] = [
  { pattern: /No space left on device|ENOSPC|the workspace is full/, hint: disk },
  { pattern: /it took too long/, hint: "leave out what takes long to install or to build" },
  { pattern: /it ran out of memory/, hint: "use packages that need no compilation" },
  {
    pattern: /No matching distribution found|Could not find a version|E404|ETARGET|No matching version|notarget/,
    hint: "check the names and versions of the dependencies",
  },
  { pattern: /^refused: /m, hint: reach },
  { pattern: /is a link to|leads out of|is an absolute name/, hint: "pack only files whose links stay in the archive" },
  { pattern: /unpacks to more than|the archive is refused: .*(past|more than) \d/, hint: size },
  { pattern: /the archive is refused/, hint: archiveHint },
  {
    pattern: /the image has no |No module named pip/,
    hint: "use the image mcp-runtime, or add the program to yours",
  },
];

const stepHints: Readonly<Record<string, string>> = {
  detect: "check pyproject.toml",
  pip: "the build log has all of pip's output",
  npm: "the build log has all of npm's output",
};

export function buildFailure(step: string, error: unknown): AppError {
  const inSandbox = error instanceof StepFailure;
  const message = inSandbox ? error.message : hidePaths(messageOf(error).replace(/^(app|\/workspace\/app): /, ""));
  const given = error instanceof AppError ? error.hint : undefined;
  const hint = given ?? causes.find(({ pattern }) => pattern.test(message))?.hint ?? stepHints[step];
  return new AppError(codeOf(error), `${step}: ${message}`.slice(0, serverBuildLimits.errorCharacters), {
    ...(hint === undefined ? {} : { hint }),
    details: { step },
    cause: error,
  });
}

function codeOf(error: unknown): ErrorCode {
  return error instanceof AppError ? error.code : "internal";
}
