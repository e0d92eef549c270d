import { AppError } from "../core/errors.ts";
import { preferred } from "./build-plan.ts";
import { app, projectReport, readInstalled } from "./build-scripts.ts";
import type { BuildSteps, BuiltServer } from "./build-server.ts";
import type { PackageInstaller } from "./package-installer.ts";
import { asNodePackage, asPythonProject, field, readJson } from "./read-facts.ts";
import { checkPackageSource, type PackageSource, packageWord, resolved } from "./sources/package-source.ts";

/** Installs a package of a registry; its own program starts the server unless a command is given. */
export async function buildPackage(
  source: PackageSource,
  command: readonly string[] | null,
  installer: PackageInstaller,
  steps: BuildSteps,
): Promise<Pick<BuiltServer, "command" | "source">> {
  checkPackageSource(source);
  const install = source.kind === "npm" ? npmPackage : pypiPackage;
  const { found, scripts, folder } = await install(source, installer, steps);
  const exact = resolved(source, field(found, "version"));
  if (command !== null) return { command, source: exact };
  const script = preferred(scripts, source.package.replace(/^@[^/]*\//, ""));
  if (script === undefined)
    throw new AppError("invalid", `the package ${source.package} has no program to start`, { hint: "set a command" });
  return { command: [`${folder}${script}`], source: exact };
}

interface Installed {
  /** Metadata of the package, as the sandbox reports it. */
  found: unknown;
  scripts: readonly string[];
  /** Folder of the scripts in a server, if it is not in the search path. */
  folder: string;
}

async function npmPackage(source: PackageSource, installer: PackageInstaller, steps: BuildSteps): Promise<Installed> {
  await installer.npm(["install", packageWord(source)]);
  await steps.progress.begin("detect");
  const path = `${app}/node_modules/${source.package}/package.json`;
  const found = await readJson(steps.builder, path, "the package's package.json");
  const scripts = Object.keys(asNodePackage(found).bin).filter(isScript);
  return { found, scripts, folder: "/app/node_modules/.bin/" };
}

async function pypiPackage(source: PackageSource, installer: PackageInstaller, steps: BuildSteps): Promise<Installed> {
  const { builder, progress, stepMs } = steps;
  await installer.pip([packageWord(source)]);
  await builder.run({ ...readInstalled, words: [source.package] }, progress, { timeoutMs: stepMs });
  const found = await readJson(builder, projectReport, "the package's metadata");
  return { found, scripts: asPythonProject(found).scripts.filter(isScript), folder: "" };
}

/** A plain name of a file. */
function isScript(name: string): boolean {
  return /^[A-Za-z0-9._][A-Za-z0-9._-]*$/.test(name) && !/^\.+$/.test(name);
}
