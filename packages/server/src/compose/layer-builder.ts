/** Makes layers in sandboxes of the machine's own engines, which belong to nobody: a daemon that dies leaves them to the next one. */
import type { Caisson } from "../app.ts";
import { AppError } from "../core/errors.ts";
import type { LayerInfo } from "../core/layer.ts";
import type { Builder, LayerBuilder, LayerGround } from "../core/layer-builder.ts";
import type { EngineChoice } from "../core/request.ts";
import { buildLimits } from "../images/limits.ts";
import { copy } from "../images/settle-steps.ts";
import type { SandboxFleet } from "../sandboxes/fleet/fleet.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { runScript } from "./run-script.ts";

export interface LayerBuilderParts {
  caisson: Pick<Caisson, "createSandbox" | "openRegistry" | "layers" | "removeLayer">;
  fleet: Pick<SandboxFleet, "makeRoom">;
  engine: EngineChoice;
}

export function openLayerBuilder({ caisson, ...parts }: LayerBuilderParts): LayerBuilder {
  return {
    list: () => caisson.layers(),
    remove: (id) => caisson.removeLayer(id),
    build: async (ground, grow) => {
      const { sandbox, prepare } = await openOn({ caisson, ...parts }, ground);
      const { files } = sandbox;
      const reach: Builder["reach"] = (hosts, how) => caisson.openRegistry(sandbox.id, hosts, how);
      return frozen(sandbox, async () => {
        await prepare();
        await grow({ files, reach, run: (script, progress, options) => runScript(sandbox, script, progress, options) });
      });
    },
  };
}

/** Copies the root's files where the workspace cannot lie over them, as for an ordinary user. */
async function openOn(
  parts: LayerBuilderParts,
  ground: LayerGround,
): Promise<{ sandbox: Sandbox; prepare: () => Promise<void> }> {
  const empty = { ...ground, over: false };
  const nothing = () => Promise.resolve();
  if (ground.over !== true) return { sandbox: await open(parts, empty), prepare: nothing };
  if (ground.root === null) throw new AppError("invalid", "the machine's own root cannot be added to");
  try {
    return { sandbox: await open(parts, ground), prepare: nothing };
  } catch (error) {
    if (!isUnsupported(error)) throw error;
    const sandbox = await open(parts, empty);
    return { sandbox, prepare: () => copyRoot(sandbox) };
  }
}

/** In the faster engine where nobody asks for another: what is built is read-only for whoever uses it. */
async function open({ caisson, fleet, engine }: LayerBuilderParts, ground: LayerGround): Promise<Sandbox> {
  const { memoryBytes, storageBytes, processes, cpus } = buildLimits;
  const limits = { memoryBytes, storageBytes, processes, cpus, ...ground.limits };
  const { root, over = false } = ground;
  const openIn = (choice: EngineChoice) =>
    fleet.makeRoom(() =>
      caisson.createSandbox({
        ...{ engine: choice, limits, warm: "never", listeners: false },
        ...{ keep: true, fleet: true, alone: true },
        ...(root === null ? {} : { root }),
        ...(root === null || !over ? {} : { base: root }),
      }),
    );
  return openIn(engine === "auto" ? "container" : engine).catch((error: unknown) => {
    if (engine !== "auto" || !isUnsupported(error)) throw error;
    return openIn("auto");
  });
}

function isUnsupported(error: unknown): boolean {
  return error instanceof AppError && error.code === "unsupported";
}

async function copyRoot(sandbox: Sandbox): Promise<void> {
  const timeoutMs = buildLimits.stepMs;
  const { exit_code, stderr } = await sandbox.exec({
    command: ["/bin/bash", "-euc", copy.text],
    limits: { timeoutMs, cpuTimeMs: timeoutMs },
    trackFiles: false,
  });
  if (exit_code !== 0) throw new AppError("unavailable", `cannot copy the files of the image: ${stderr.slice(-500)}`);
}

async function frozen(sandbox: Sandbox, grow: () => Promise<void>): Promise<LayerInfo> {
  try {
    await sandbox.files.remove("output"); // its workspace becomes a root
    await grow();
    return await sandbox.freeze({ keep: false });
  } catch (error) {
    await sandbox.destroy();
    throw error;
  }
}
