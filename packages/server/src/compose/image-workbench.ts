/** Wires the making of images: sandboxes of the machine's own engines, which a daemon that dies leaves to the next one. */
import type { Caisson } from "../app.ts";
import { AppError } from "../core/errors.ts";
import { buildLimits } from "../core/image-limits.ts";
import type { EngineChoice } from "../core/request.ts";
import type { Workbench } from "../images/workbench.ts";

const { memoryBytes, storageBytes, processes, cpus } = buildLimits;

/** In the faster engine where nobody asks for another: what is built is read-only for whoever uses it. */
export function imageWorkbench(
  caisson: Caisson,
  engine: EngineChoice,
  makeRoom: <T>(start: () => Promise<T>) => Promise<T>,
): Workbench {
  const open = (choice: EngineChoice, root: string | null) =>
    makeRoom(() =>
      caisson.createSandbox({
        ...{ engine: choice, limits: { memoryBytes, storageBytes, processes, cpus }, warm: "never", listeners: false },
        ...{ keep: true, fleet: true, alone: true },
        ...(root === null ? {} : { root }),
      }),
    );
  return {
    open: async (root) => {
      const sandbox = await open(engine === "auto" ? "container" : engine, root).catch((error: unknown) => {
        if (engine !== "auto" || !(error instanceof AppError && error.code === "unsupported")) throw error;
        return open("auto", root);
      });
      try {
        await sandbox.files.remove("output"); // its workspace becomes a root
      } catch (error) {
        await sandbox.destroy();
        throw error;
      }
      return {
        id: sandbox.id,
        files: sandbox.files,
        exec: (request) => sandbox.exec(request),
        freeze: () => sandbox.freeze({ keep: false }),
        destroy: () => sandbox.destroy(),
      };
    },
    reach: (id, hosts, how) => caisson.openRegistry(id, hosts, how),
    layers: () => caisson.layers(),
    removeLayer: (id) => caisson.removeLayer(id),
  };
}
