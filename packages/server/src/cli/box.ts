import type { CreateOptions } from "../app.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { copyFolder } from "./output-folder.ts";
import type { RunIo } from "./run.ts";
import type { BoxPlan } from "./run-options.ts";
import { visible } from "./terminal.ts";

/** The sandbox of a plan. It runs a single program, so no interpreter is kept warm for a second one. */
export function boxOptions(plan: BoxPlan): CreateOptions {
  return {
    ...(plan.engine === undefined ? {} : { engine: plan.engine }),
    limits: plan.sandbox,
    ...(plan.inputFolder === undefined ? {} : { inputFolder: plan.inputFolder }),
    warm: "never",
    ...(plan.allowDomains === undefined ? {} : { network: { allow: plan.allowDomains } }),
  };
}

/** Copies /workspace/output to the output folder of the plan, and prints what was not copied. */
export async function bringOutput(sandbox: Sandbox, plan: BoxPlan, io: RunIo): Promise<void> {
  if (plan.outputFolder === undefined) return;
  for (const left of await copyFolder(
    sandbox.files,
    "/workspace/output",
    plan.outputFolder,
    sandbox.limits.storageBytes,
  ))
    io.stderr.write(`caisson: not copied: ${visible(left)}\n`);
}
