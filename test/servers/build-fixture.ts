import { gzipSync } from "node:zlib";
import { openLayerBuilder } from "../../packages/server/src/compose/layer-builder.ts";
import { openServerBuilder } from "../../packages/server/src/compose/server-builder.ts";
import type { Service } from "../../packages/server/src/compose/service.ts";
import type { NetworkOptions } from "../../packages/server/src/core/egress-policies.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { ChosenImage } from "../../packages/server/src/core/image-record.ts";
import type { Registries } from "../../packages/server/src/core/package.ts";
import { defined } from "../../packages/server/src/lib/defined.ts";
import type { BuildRequest, BuiltServer, ServerBuilderParts } from "../../packages/server/src/servers/build-server.ts";
import { openDeployment } from "../fleet/deployment.ts";
import { makeHome, settings } from "../fleet/fixture.ts";
import { admin } from "../images/fixture.ts";
import { archive, type Entry } from "../sandbox/tar-bytes.ts";
import { ownPackages, placeRuntimeImage, removeLayers } from "./runtime-image.ts";

const MiB = 1024 ** 2;

type Limits = NonNullable<ServerBuilderParts["limits"]>;

export interface TestBuilds extends AsyncDisposable {
  service: Service;
  image: ChosenImage;
  registries: Registries;
  /** With what was said and done meanwhile. */
  build(
    request: Partial<BuildRequest>,
    limits?: Limits,
    how?: { engine?: EngineName; signal?: AbortSignal; onStep?: (name: string) => void },
  ): Promise<BuiltServer & { steps: string[]; log: string }>;
  /** Runs a line in a sandbox whose root is the layer. */
  run(layerId: string, engine: EngineName, line: string): Promise<{ stdout: string; stderr: string }>;
}

/** A deployment with the image mcp-runtime, that builds servers from this machine's registries or the ones given. */
export async function openServerBuilds(
  given: { registries?: Registries; network?: NetworkOptions; keepBytes?: number } = {},
): Promise<TestBuilds> {
  await using opened = new AsyncDisposableStack();
  const home = opened.use(await makeHome());
  const image = await placeRuntimeImage(home.home);
  const registries = given.registries ?? (await ownPackages()).registries;
  const service = opened.use(
    await openDeployment(home.home, {
      caisson: { ...defined({ network: given.network }) },
      settings,
      leavesLayers: true,
      packages: { registries, mustPin: false, ...defined({ keepBytes: given.keepBytes }) },
      onError: (error) => console.error(error),
    }),
  );
  opened.defer(() => removeLayers(service));
  const kept = opened.move();
  return {
    ...{ service, image, registries },
    build: async (request, limits = {}, { engine, signal = new AbortController().signal, onStep } = {}) => {
      const builder = openServerBuilder(async () => registries, {
        layers: engine === undefined ? service.layers : openLayerBuilder({ ...service, engine }),
        ...{ fleet: service.fleet, limits },
      });
      const steps: string[] = [];
      const said: string[] = [];
      const watch = {
        step: (name: string) => {
          steps.push(name);
          onStep?.(name);
        },
        log: (text: string) => void said.push(text),
        signal,
      };
      const all = { source: { kind: "archive" } as const, image, command: null, ...request };
      return { ...(await builder.build(admin, all, watch)), steps, log: said.join("") };
    },
    run: async (root, engine, line) => {
      await using sandbox = await service.caisson.createSandbox({
        ...{ root, engine, limits: { memoryBytes: 512 * MiB, storageBytes: 64 * MiB } },
      });
      const { stdout, stderr } = await sandbox.exec({ command: line });
      await sandbox.destroy();
      return { stdout, stderr };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** A gzipped archive of texts by path, and of other entries. */
export async function* packed(files: Readonly<Record<string, string>>, ...others: Entry[]): AsyncGenerator<Buffer> {
  yield gzipSync(archive(...Object.entries(files).map(([name, body]) => ({ name, body })), ...others));
}
