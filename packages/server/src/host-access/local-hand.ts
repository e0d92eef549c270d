/** The hand of the user that this process runs as. It asks nobody and trusts nobody: what policy does not let through stays undone. */
import { AppError, errnoOf } from "../core/errors.ts";
import type { Argv, HostHand, HostListing, HostPiece, HostPolicy, HostResult } from "../core/host-access.ts";
import { checkArguments } from "./check-arguments.ts";
import { checkArgv } from "./check-argv.ts";
import { decideHost, type ReadPolicy, readPolicy } from "./decide.ts";
import { listFolder, readPiece, writeWhole } from "./files.ts";
import { hostLimits } from "./limits.ts";
import type { AllowedFolders } from "./open-within.ts";
import { type Pattern, parseAllowing } from "./pattern.ts";
import { findProgram } from "./program.ts";
import { runCommand, type StartCommand } from "./run-command.ts";

export interface LocalHandParts {
  policy: HostPolicy;
  /** Whether anybody can have approved what no pattern allows. */
  attended: boolean;
  closed: readonly string[];
  start: StartCommand;
}

export class LocalHand implements HostHand {
  readonly #parts: LocalHandParts;
  readonly #policy: ReadPolicy;
  readonly #allowed: AllowedFolders;
  #running = 0;

  constructor(parts: LocalHandParts) {
    this.#parts = parts;
    this.#policy = readPolicy(parts.policy);
    this.#allowed = { folders: parts.policy.folders, closed: parts.closed };
  }

  async exec(
    argv: Argv,
    { timeoutMs, approved, signal }: { timeoutMs: number; approved?: string; signal?: AbortSignal },
  ): Promise<HostResult> {
    checkArgv(argv);
    const { path: program, spellings } = await findProgram(argv[0] ?? "");
    const rule = this.#ruleFor(argv, spellings, approved);
    await checkArguments(rule, argv);
    if (this.#running >= hostLimits.commands)
      throw new AppError("limit_exceeded", `too many commands on the host (limit: ${hostLimits.commands})`, {
        retryAfterMs: 1_000,
      });
    if (signal?.aborted === true) throw new AppError("unavailable", "the caller left before the command started");
    this.#running++;
    try {
      const command = { program, argv, timeoutMs };
      return await runCommand(this.#parts.start, signal === undefined ? command : { ...command, signal });
    } finally {
      this.#running--;
    }
  }

  #ruleFor(argv: Argv, spellings: readonly string[], approved: string | undefined): Pattern {
    const { verdict, rule } = decideHost(this.#policy, argv, spellings);
    if (verdict === "allow" && rule !== null) return rule;
    const isBlocked = verdict === "deny" && rule !== null;
    if (approved !== undefined && !isBlocked && this.#parts.attended) return parseAllowing(approved);
    const why = isBlocked ? `'${rule.text}' is blocked` : "no pattern allows it";
    throw new AppError("forbidden", `command refused on the host: ${why}`);
  }

  read(path: string, range: { offset: number; length: number }): Promise<HostPiece> {
    return readPiece(this.#allowed, path, range).catch(explain);
  }

  write(path: string, bytes: Buffer): Promise<{ created: boolean }> {
    return writeWhole(this.#allowed, path, bytes).catch(explain);
  }

  list(path: string): Promise<HostListing> {
    return listFolder(this.#allowed, path).catch(explain);
  }
}

/** What the file system says of itself, where nothing better is known. */
function explain(error: unknown): never {
  if (error instanceof AppError) throw error;
  const errno = errnoOf(error);
  const isFull = errno === "ENOSPC" || errno === "EDQUOT";
  throw new AppError(isFull ? "limit_exceeded" : "unavailable", `error of the host's file system (${errno})`, {
    cause: error,
  });
}
