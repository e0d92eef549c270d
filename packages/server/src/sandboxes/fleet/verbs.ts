import type { SandboxLimits } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import type { Sandbox } from "../sandbox.ts";

interface Verbs {
  updateLimits(limits: SandboxLimits): Promise<void>;
  setEnvironment(env: Readonly<Record<string, string>>): void;
  ping(): Promise<void>;
}

export function verb<N extends keyof Verbs>(sandbox: Sandbox, name: N): Verbs[N] {
  const found = (sandbox as Partial<Verbs>)[name];
  if (found === undefined) throw new AppError("unsupported", `sandboxes cannot ${name} yet`);
  return found.bind(sandbox) as Verbs[N];
}

export function hasVerb(sandbox: Sandbox, name: keyof Verbs): boolean {
  return name in sandbox;
}
