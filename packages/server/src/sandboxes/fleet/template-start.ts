import { runAgain } from "../../core/command.ts";
import type { Caller } from "../../core/principal.ts";
import type { ReadyTemplate, TemplateMemory } from "../../core/template.ts";
import { defined } from "../../lib/defined.ts";
import type { Sandbox } from "../sandbox.ts";
import { runWarmUp } from "../warm-up.ts";
import { type CreationParts, type Made, takeWarm, termsOf } from "./creation.ts";
import { rootOf } from "./member.ts";
import type { ResolvedRequest } from "./resolve-defaults.ts";

export interface Started extends TemplateMemory {
  sandbox: Sandbox;
}

/** A sandbox of a template: one that waits, or a new one. */
export async function startTemplate(
  parts: CreationParts,
  caller: Caller,
  resolved: ResolvedRequest,
  template: ReadyTemplate,
): Promise<Made> {
  const { provisioner, templatePools } = parts;
  const hasSecrets = provisioner.hasSecrets(caller.principal.namespace);
  const taken = await takeWarm(parts, caller, resolved, () => templatePools.take(resolved, template, hasSecrets));
  if ("cold" in taken) return startNew(parts, caller, resolved, template);
  const { id, name } = template;
  const origin = templatePools.originOf(taken.sandbox);
  const how = origin.memory ? "memory, in the pool" : "files, and its warm-up had run in the pool";
  return { ...taken, origin: `template ${name}: ${how}`, template: { id, name, ...origin } };
}

function startNew(
  parts: CreationParts,
  caller: Caller,
  resolved: ResolvedRequest,
  template: ReadyTemplate,
): Promise<Made> {
  const { queue, provisioner, removals, templatePools, onError } = parts;
  return queue.with({ caller, kind: "create", priority: resolved.priority }, async () => {
    const { sandbox, memory, why } = await beginTemplate(parts, resolved, template);
    try {
      await provisioner.provision(caller, sandbox, termsOf(caller, resolved, resolved.limits));
    } catch (error) {
      await removals.remove(sandbox.id, sandbox).catch(onError);
      throw error;
    }
    templatePools.open(template);
    const { id, name, warmUp } = template;
    const how = memory ? "memory" : warmUp === null ? "files" : "files, and its warm-up ran at the start";
    return { sandbox, origin: `template ${name}: ${how}`, template: { id, name, memory, why } };
  });
}

type Beginning = Pick<CreationParts, "seeds" | "starts" | "pools" | "maker" | "removals" | "onError">;

/** With the memory that the warm-up left, or with its files and the warm-up run once more. */
export async function beginTemplate(
  parts: Beginning,
  resolved: Pick<ResolvedRequest, "env" | "warm" | "outputFolder">,
  template: ReadyTemplate,
): Promise<Started> {
  const { outputFolder } = resolved;
  const grown =
    outputFolder === null ? await parts.seeds.grow(template) : "its output folder is looked at as it starts";
  if (typeof grown !== "string") return { sandbox: grown, memory: true, why: null };
  const { engine, limits, image, layerId: base, warmUp } = template;
  const options = { engine, limits, warm: resolved.warm, keep: true, fleet: true, base, ...rootOf(image) } as const;
  const folder = defined({ outputFolder: outputFolder ?? undefined });
  const { starts, pools, maker } = parts;
  const sandbox = await starts.with(() => pools.makeRoom(() => maker.createSandbox({ ...options, ...folder })));
  try {
    sandbox.setEnvironment(resolved.env);
    if (warmUp !== null) await runWarmUp(sandbox, runAgain(warmUp)); // before it has secrets, as where memory is saved
  } catch (error) {
    await parts.removals.remove(sandbox.id, sandbox).catch(parts.onError);
    throw error;
  }
  return { sandbox, memory: false, why: grown };
}
