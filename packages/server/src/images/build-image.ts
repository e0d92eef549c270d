/** Makes the tree of a specification, in sandboxes that reach the machine's own registries and nothing else (S67). */
import { posix } from "node:path";
import type { AptSources } from "../core/apt.ts";
import { aptFolder } from "../core/apt.ts";
import { type Script, StepFailure } from "../core/build-script.ts";
import { AppError } from "../core/errors.ts";
import type { ImageSpec } from "../core/image-spec.ts";
import type { LayerId, LayerInfo } from "../core/layer.ts";
import type { Builder, LayerBuilder } from "../core/layer-builder.ts";
import type { PackageManager, Registries, Registry } from "../core/package.ts";
import type { Progress } from "./build-steps.ts";
import { aptConfig, aptConfigPath, clean, debianScripts } from "./debian-steps.ts";
import { lastScripts, settleScripts } from "./settle-steps.ts";

export interface BuildParts {
  layers: LayerBuilder;
  apt: AptSources;
  registries: Registries;
  /** Whether files of registries are kept for the next build. */
  keepsFiles: boolean;
}

const filesStep = "files";
const freezeStep = "freeze";
const unpackStep = "unpack";
/** Beside the first python3 of a tree that has no python. Its links may lead anywhere in the builder, which is a sandbox. */
const pythonName = `set -- usr/local/bin usr/bin bin
for folder; do if [ -e $folder/python ] || [ -L $folder/python ]; then exit 0; fi; done
for folder; do if [ -e $folder/python3 ] || [ -L $folder/python3 ]; then ln -s python3 $folder/python; break; fi; done || true`;
const certificates = "/workspace/.build/registry.pem";

/** Names of all steps, in their order. */
export function stepsOf(spec: ImageSpec): string[] {
  const first = debianScripts(spec).map(({ name }) => name);
  const files = Object.keys(spec.files).length > 0 ? [filesStep] : [];
  const then = [...settleScripts(spec), ...lastScripts(spec)].map(({ name }) => name);
  const at = settleScripts(spec).length;
  return [...first, freezeStep, ...then.slice(0, at), ...files, ...then.slice(at), freezeStep];
}

export const treeSteps = [unpackStep, clean.name, freezeStep];

export async function buildImage(parts: BuildParts, spec: ImageSpec, progress: Progress): Promise<LayerInfo> {
  checkSources(parts, spec);
  const { layers } = parts;
  const packages = await buildLayer(layers, null, progress, (builder) => packageTree(parts, builder, spec, progress));
  try {
    await progress.holds(packages.id);
    return await buildLayer(layers, packages.id, progress, (builder) => wholeTree(parts, builder, spec, progress));
  } finally {
    await layers.remove(packages.id);
    await progress.holds(null);
  }
}

/** From a tar archive without whiteouts and devices, whose hard links name entries before them. */
export function buildTree(
  { layers }: Pick<BuildParts, "layers">,
  archive: AsyncIterable<Uint8Array>,
  progress: Progress,
): Promise<LayerInfo> {
  const unpack: Script = {
    name: unpackStep,
    text: `tar -x --same-permissions --no-same-owner --delay-directory-restore
find . -type d ! -perm -u+rwx -exec chmod u+rwx {} +
${pythonName}`,
  };
  return buildLayer(layers, null, progress, async (builder) => {
    await builder.run(unpack, progress, { stdin: archive });
    await builder.run(clean, progress);
  });
}

function buildLayer(
  layers: LayerBuilder,
  root: LayerId | null,
  { signal, begin }: Progress,
  grow: (builder: Builder) => Promise<void>,
): Promise<LayerInfo> {
  signal.throwIfAborted();
  return layers.build({ root }, async (builder) => {
    await grow(builder);
    await begin(freezeStep);
  });
}

/** Before anything is started. */
function checkSources({ apt, registries }: BuildParts, spec: ImageSpec): void {
  const problems = [
    apt.problem,
    ...(["pip", "npm"] as const).map((name) => spec[name].length > 0 && registries[name].problem),
  ];
  const problem = problems.find((one) => typeof one === "string");
  if (typeof problem === "string")
    throw new AppError("unsupported", problem, { hint: "an operator must configure it on the daemon's machine" });
}

async function packageTree(parts: BuildParts, builder: Builder, spec: ImageSpec, progress: Progress): Promise<void> {
  const { apt, keepsFiles } = parts;
  for (const { path, base64 } of apt.files)
    await builder.files.write(posix.join(aptFolder, path), Buffer.from(base64, "base64"));
  await builder.files.write(aptConfigPath, aptConfig);
  const [index, download, ...then] = debianScripts(spec);
  if (index === undefined || download === undefined) return;
  const env = { APT_CONFIG: aptConfigPath };
  const bring = async (keeps: boolean) => {
    using _open = await builder.reach(apt.hosts, { keepsFiles: keeps });
    await builder.run(index, progress, { env });
    await builder.run(download, progress, { env });
  };
  await bring(keepsFiles).catch(async (error: unknown) => {
    if (!keepsFiles || !(error instanceof StepFailure)) throw error;
    await progress.log.write("once more, without files that were kept\n"); // one of them may be a liar's, on a plain connection
    await bring(false);
  });
  for (const script of then) await builder.run(script, progress);
}

async function wholeTree(parts: BuildParts, builder: Builder, spec: ImageSpec, progress: Progress): Promise<void> {
  for (const script of settleScripts(spec)) {
    const manager = script.name === "pip" || script.name === "npm" ? script.name : undefined;
    if (manager === undefined) await builder.run(script, progress);
    else await install(parts, builder, manager, script, progress);
  }
  if (Object.keys(spec.files).length > 0) await progress.begin(filesStep);
  for (const [path, text] of Object.entries(spec.files))
    await builder.files.write(posix.join("/workspace", path), text);
  for (const script of lastScripts(spec)) await builder.run(script, progress);
}

async function install(
  { registries, keepsFiles }: BuildParts,
  builder: Builder,
  manager: PackageManager,
  script: Script,
  progress: Progress,
): Promise<void> {
  const registry: Registry = registries[manager];
  const keeps = keepsFiles && registry.keepsFiles;
  if (registry.certificates !== null) await builder.files.write(certificates, registry.certificates);
  const trust = registry.certificates === null ? registry.trust : mapValues(registry.trust, certificates);
  const own = manager === "pip" ? { PIP_BREAK_SYSTEM_PACKAGES: "1", PIP_PROGRESS_BAR: "off", PIP_NO_COLOR: "1" } : {};
  using _open = await builder.reach(registry.hosts, { keepsFiles: keeps });
  await builder.run(script, progress, { env: { ...own, ...registry.variables, ...(keeps ? {} : trust) } });
}

function mapValues(record: Readonly<Record<string, string>>, value: string): Record<string, string> {
  return Object.fromEntries(Object.keys(record).map((name) => [name, value]));
}
