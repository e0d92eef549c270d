import type { Registries } from "../core/package.ts";
import { readNpmTree } from "../package-install/npm-installer.ts";
import { readPipReport } from "../package-install/pip-installer.ts";
import { ServerBuilder, type ServerBuilderParts } from "../servers/build-server.ts";

export function openServerBuilder(
  registries: () => Promise<Registries>,
  parts: Pick<ServerBuilderParts, "layers" | "fleet" | "limits">,
): ServerBuilder {
  return new ServerBuilder({
    ...parts,
    registries,
    claims: {
      pip: (files, path) => readPipReport({ files }, path),
      npm: (files, folder) => readNpmTree({ files }, folder),
    },
  });
}
