import { AppError } from "../core/errors.ts";
import type { SandboxFiles } from "../core/file.ts";
import type { CreateSandbox, Fleet, TemplateBench } from "../core/fleet.ts";
import type { LayerInfo } from "../core/layer.ts";
import { type InstallRequest, packageManagers } from "../core/package.ts";
import type { Caller } from "../core/principal.ts";
import type { TemplateChanges, TemplateFile, TemplateMemory, TemplateRecord, TemplateStep } from "../core/template.ts";
import { templateLimits } from "../core/template-limits.ts";
import { readyTemplate } from "./ready-template.ts";

/** The sandbox that a template is made in. */
interface Workspace {
  files: Pick<SandboxFiles, "write">;
}

interface Installed {
  exit_code: number | null;
  output: string;
}

export interface BuildParts {
  create: CreateSandbox;
  fleet: Pick<Fleet<Workspace>, "use" | "run">;
  bench: TemplateBench;
  install: (caller: Caller, sandboxId: string, request: InstallRequest) => Promise<Installed>;
}

export interface Progress {
  signal: AbortSignal;
  begin: (step: TemplateStep) => Promise<void>;
  /** Before anything else can happen to it. */
  holds: (changes: TemplateChanges) => Promise<TemplateRecord>;
}

/** From an empty sandbox to its files and its memory, a step at a time. */
export async function buildTemplate(
  parts: BuildParts,
  caller: Caller,
  builderId: string,
  { packages }: TemplateRecord,
  files: readonly TemplateFile[],
  { signal, begin, holds }: Progress,
): Promise<TemplateMemory> {
  const { fleet, bench, install } = parts;
  if (files.length > 0) {
    await begin("files");
    await fleet.use(caller, builderId, async (sandbox) => {
      for (const { path, data } of files) await sandbox.files.write(path, data);
    });
  }
  for (const manager of packageManagers) {
    if (packages[manager].length === 0) continue;
    await begin("packages");
    const { exit_code, output } = await install(caller, builderId, { manager, packages: packages[manager], signal });
    if (exit_code !== 0)
      throw new AppError("conflict", `${manager} failed\n${output.slice(-templateLimits.errorCharacters)}`);
  }
  await begin("freeze");
  const { id: layerId, bytes }: LayerInfo = await bench.freeze(caller, builderId);
  const frozen = await holds({ layerId, bytes });
  const ready = readyTemplate(frozen, layerId, null);
  if (ready.warmUp === null) return { memory: false, why: "it has no warm-up" };
  await begin("warm-up");
  // Judged and logged for the builder; it runs in another sandbox on the builder's files.
  return fleet.run(caller, builderId, ready.warmUp, { signal }, () => bench.prime(ready, signal));
}
