/** Makes layers in sandboxes of the machine's own engines, which belong to nobody: a daemon that dies leaves them to the next one. */
import type { Caisson } from "../app.ts";
import { AppError } from "../core/errors.ts";
import type { LayerId, LayerInfo } from "../core/layer.ts";
import type { Builder, LayerBuilder } from "../core/layer-builder.ts";
import type { EngineChoice } from "../core/request.ts";
import { buildLimits } from "../images/limits.ts";
import type { SandboxFleet } from "../sandboxes/fleet/fleet.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";

export interface LayerBuilderParts {
  caisson: Pick<Caisson, "createSandbox" | "openRegistry" | "layers" | "removeLayer">;
  fleet: Pick<SandboxFleet, "makeRoom">;
  engine: EngineChoice;
}

export function openLayerBuilder({ caisson, ...parts }: LayerBuilderParts): LayerBuilder {
  return {
    list: () => caisson.layers(),
    remove: (id) => caisson.removeLayer(id),
    build: async (root, grow) => {
      const sandbox = await open({ caisson, ...parts }, root);
      const { files } = sandbox;
      const reach: Builder["reach"] = (hosts, how) => caisson.openRegistry(sandbox.id, hosts, how);
      return frozen(sandbox, () => grow({ files, reach, exec: (request) => sandbox.exec(request) }));
    },
  };
}

/** In the faster engine where nobody asks for another: what is built is read-only for whoever uses it. */
async function open({ caisson, fleet, engine }: LayerBuilderParts, root: LayerId | null): Promise<Sandbox> {
  const { memoryBytes, storageBytes, processes, cpus } = buildLimits;
  const openIn = (choice: EngineChoice) =>
    fleet.makeRoom(() =>
      caisson.createSandbox({
        ...{ engine: choice, limits: { memoryBytes, storageBytes, processes, cpus }, warm: "never", listeners: false },
        ...{ keep: true, fleet: true, alone: true },
        ...(root === null ? {} : { root }),
      }),
    );
  return openIn(engine === "auto" ? "container" : engine).catch((error: unknown) => {
    if (engine !== "auto" || !(error instanceof AppError && error.code === "unsupported")) throw error;
    return openIn("auto");
  });
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
