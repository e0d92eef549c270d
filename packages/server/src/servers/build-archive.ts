import type { ArchiveBody } from "../core/server.ts";
import { dependencyFile, planBuild, type SourceFacts } from "./build-plan.ts";
import { app, projectReport, readProject } from "./build-scripts.ts";
import type { BuildSteps } from "./build-server.ts";
import { serverLimits } from "./limits.ts";
import type { PackageInstaller } from "./package-installer.ts";
import { asNodePackage, asPythonProject, readJson, topFiles } from "./read-facts.ts";

/** Unpacks an archive in the builder and installs what it depends on; returns the words that start it. */
export async function buildArchive(
  body: ArchiveBody,
  command: readonly string[] | null,
  installer: PackageInstaller,
  steps: BuildSteps,
  unpackedBytes: number = serverLimits.unpackedBytes,
): Promise<readonly string[]> {
  const { builder, progress } = steps;
  await progress.begin("unpack");
  const limits = { entries: serverLimits.archiveEntries, bytes: unpackedBytes };
  await builder.files.unpack(app, body, { limits });
  await progress.begin("detect");
  const facts = await readSource(steps);
  const plan = planBuild(facts, command);
  if (plan.pip?.includes(dependencyFile))
    await builder.files.write(dependencyFile, `${facts.python?.dependencies.join("\n")}\n`);
  if (plan.pip !== null) await installer.pip(plan.pip);
  if (plan.npm !== null) await installer.npm([plan.npm]);
  return plan.command;
}

async function readSource(steps: BuildSteps): Promise<SourceFacts> {
  const { builder, progress, stepMs } = steps;
  const files = await topFiles(builder, app);
  const node = files.has("package.json")
    ? asNodePackage(await readJson(builder, `${app}/package.json`, "package.json"))
    : null;
  if (!files.has("pyproject.toml")) return { files, node, python: null };
  await builder.run(readProject, progress, { timeoutMs: stepMs });
  return { files, node, python: asPythonProject(await readJson(builder, projectReport, "the project's metadata")) };
}
