/** Installs packages into sandboxes: the registries of this machine can be reached while that goes on, and not after it (S54). */

import { type Command, toCommand } from "../core/command.ts";
import type { CommandHandle } from "../core/command-handle.ts";
import type { RuleDraft } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import type { Recorder } from "../core/journal.ts";
import type {
  InstalledPackage,
  InstallRequest,
  PackageManager,
  PackageRecord,
  PackageRecords,
  Registries,
  Registry,
} from "../core/package.ts";
import type { Caller } from "../core/principal.ts";
import type { RunResult } from "../core/run.ts";
import type { Clock } from "../lib/clock.ts";
import { defined } from "../lib/defined.ts";
import { certificatePath } from "./certificates.ts";
import { checkRequest } from "./check-request.ts";
import type { Installer } from "./installer.ts";
import { packageLimits } from "./limits.ts";
import { npmInstaller } from "./npm-installer.ts";
import { pipInstaller } from "./pip-installer.ts";

const installers: Record<PackageManager, Installer> = { pip: pipInstaller, npm: npmInstaller };

export interface PackageParts {
  fleet: Pick<Fleet<unknown>, "get" | "run">;
  registries: () => Promise<Registries>;
  /** Whether only packages with their version, or lockfiles, are installed. */
  mustPin: boolean;
  /** Lets a sandbox reach hosts until it is disposed of. */
  open: (sandboxId: string, hosts: readonly RuleDraft[], how: { keepsFiles: boolean }) => Promise<Disposable>;
  /** Whether files of registries are kept. */
  keepsFiles: boolean;
  records: PackageRecords;
  journal: Recorder;
  clock: Clock;
}

export interface InstallOutcome extends Pick<RunResult, "exit_code" | "timed_out" | "oom_killed" | "duration_ms"> {
  /** What is new or has another version than before; nothing when it failed. */
  installed: InstalledPackage[];
  /** The end of what the program said. */
  output: string;
}

export class Packages {
  readonly #parts: PackageParts;
  readonly #busy = new Set<string>();

  constructor(parts: PackageParts) {
    this.#parts = parts;
  }

  async install(caller: Caller, sandboxId: string, request: InstallRequest): Promise<InstallOutcome> {
    const { fleet, registries, mustPin } = this.#parts;
    await fleet.get(caller, sandboxId); // another namespace's is not there, whatever is asked of it
    checkRequest(request, mustPin);
    const registry = (await registries())[request.manager];
    if (registry.problem !== null)
      throw new AppError("unsupported", registry.problem, {
        hint: "an operator must configure it on the daemon's machine",
      });
    const keepsFiles = this.#parts.keepsFiles && registry.keepsFiles;
    const command = commandOf(request, registry, keepsFiles);
    const { signal } = request;
    return this.#alone(sandboxId, () =>
      fleet.run(caller, sandboxId, command, defined({ signal }), async (sandbox) => {
        const outcome = await this.#install(sandbox, request, registry, keepsFiles);
        if (outcome.installed.length > 0) await this.#record(caller, sandboxId, request, outcome.installed);
        return outcome;
      }),
    );
  }

  /** As far as its programs have told; of a name the last. */
  async list(caller: Caller, sandboxId: string): Promise<PackageRecord[]> {
    const { id } = await this.#parts.fleet.get(caller, sandboxId);
    return this.#parts.records.list(id);
  }

  /** Two at once in one workspace would undo each other. */
  async #alone<T>(sandboxId: string, act: () => Promise<T>): Promise<T> {
    if (this.#busy.has(sandboxId))
      throw new AppError("conflict", `packages are being installed in ${sandboxId}`, {
        hint: "wait for the other installation to end",
      });
    this.#busy.add(sandboxId);
    try {
      return await act();
    } finally {
      this.#busy.delete(sandboxId);
    }
  }

  async #install(
    sandbox: CommandHandle,
    request: InstallRequest,
    registry: Registry,
    keepsFiles: boolean,
  ): Promise<InstallOutcome> {
    if (registry.certificates !== null) await sandbox.files.write(certificatePath, registry.certificates);
    const tell = await installers[request.manager].follow(sandbox, request);
    using _open = await this.#parts.open(sandbox.sandboxId, registry.hosts, { keepsFiles });
    const result = await sandbox.run({ trackFiles: false, ...defined({ signal: request.signal }) });
    const { exit_code, timed_out, oom_killed, duration_ms, stdout, stderr } = result;
    const output = `${stdout}${stderr}`.slice(-packageLimits.outputCharacters);
    const installed = exit_code === 0 ? await tell() : [];
    return { exit_code, timed_out, oom_killed, duration_ms, installed, output };
  }

  async #record(
    caller: Caller,
    sandboxId: string,
    { manager, lockfile }: InstallRequest,
    installed: readonly InstalledPackage[],
  ): Promise<void> {
    const { records, journal, clock } = this.#parts;
    const { id: installedBy } = caller.principal;
    const installedAtMs = clock.wallMs();
    const rows = installed.map((one) => ({ ...one, sandboxId, manager, installedAtMs, installedBy }));
    const packages = installed
      .slice(0, packageLimits.noted)
      .map(({ name, version, hash }) => ({ name, version, hash }));
    const data = { manager, count: installed.length, locked: lockfile !== undefined, packages };
    await journal.record({ type: "package.installed", by: caller, sandboxId, data }, (within) =>
      records.put(rows, within),
    );
  }
}

function commandOf(request: InstallRequest, { variables, trust }: Registry, keepsFiles: boolean): Command {
  const { argv, variables: own } = installers[request.manager];
  const timeoutMs = request.timeoutMs ?? packageLimits.timeoutMs.default;
  return toCommand({
    what: { argv: argv(request) },
    cwd: "/workspace",
    env: { ...own, ...variables, ...(keepsFiles ? {} : trust) },
    limits: { timeoutMs, cpuTimeMs: timeoutMs },
  });
}
