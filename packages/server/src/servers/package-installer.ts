import { AppError } from "../core/errors.ts";
import type { Builder, DeliveredFile } from "../core/layer-builder.ts";
import type { InstalledPackage, PackageManager, Registries, Registry } from "../core/package.ts";
import type { ResolvedPackage } from "../core/server.ts";
import { serverBuildLimits } from "./build-limits.ts";
import { app, npm, pip, pipReport, scratch } from "./build-scripts.ts";
import type { BuildSteps } from "./build-server.ts";
import { deliveredPackage } from "./installed-packages.ts";

/** Reads what a package manager reports; an empty list where it has not. */
export type Claims = Readonly<
  Record<PackageManager, (files: Pick<Builder["files"], "read">, path: string) => Promise<InstalledPackage[]>>
>;

interface InstallerParts extends BuildSteps {
  registries: Registries;
  claims: Claims;
}

const certificates = `${scratch}/registry.pem`;
const quiet = { PIP_BREAK_SYSTEM_PACKAGES: "1", PIP_PROGRESS_BAR: "off", PIP_NO_COLOR: "1" };

/** Runs pip and npm in a builder, which reaches the registry of the one that runs, and only then. */
export class PackageInstaller {
  readonly #parts: InstallerParts;
  readonly #used = new Set<PackageManager>();
  /** Packages as registries sent them. */
  readonly delivered: ResolvedPackage[] = [];

  constructor(parts: InstallerParts) {
    this.#parts = parts;
  }

  pip(words: readonly string[]): Promise<void> {
    return this.#install("pip", words, quiet);
  }

  npm(words: readonly string[]): Promise<void> {
    return this.#install("npm", words);
  }

  async #install(manager: PackageManager, words: readonly string[], own: Record<string, string> = {}): Promise<void> {
    const { builder, progress, registries, stepMs } = this.#parts;
    const registry = registries[manager];
    if (registry.problem !== null)
      throw new AppError("unsupported", registry.problem, {
        hint: `an operator must configure ${manager} on the daemon's machine`,
      });
    this.#used.add(manager);
    if (registry.certificates !== null) await builder.files.write(certificates, registry.certificates);
    // Files are not kept for other builds: a hit would tell what others have built.
    using _open = await builder.reach(registry.hosts, {
      keepsFiles: false,
      readsOnly: registry.keepsFiles,
      delivered: (file) => this.#note(manager, file),
    });
    const env = { ...own, ...registry.variables, ...trustOf(registry) };
    await builder.run({ ...(manager === "pip" ? pip : npm), words }, progress, { env, timeoutMs: stepMs });
  }

  #note(manager: PackageManager, file: DeliveredFile): void {
    const found = deliveredPackage(manager, file);
    if (found !== undefined && this.delivered.length < serverBuildLimits.packages) this.delivered.push(found);
  }

  /** Packages as the sandbox reports them. */
  async claims(): Promise<(InstalledPackage & { manager: PackageManager })[]> {
    const { builder, claims } = this.#parts;
    const found = await Promise.all(
      [...this.#used].map(async (manager) => {
        const rows = await claims[manager](builder.files, manager === "pip" ? pipReport : app);
        return rows.map((row) => ({ ...row, manager }));
      }),
    );
    return found.flat();
  }
}

/** The daemon's own authority is trusted where connections are inspected, else the registry's. */
function trustOf({ keepsFiles, certificates: own, trust }: Registry): Readonly<Record<string, string>> {
  if (keepsFiles) return {};
  return own === null ? trust : Object.fromEntries(Object.keys(trust).map((name) => [name, certificates]));
}
