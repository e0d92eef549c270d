/** Builds servers from sources, in sandboxes that reach the machine's package registries and nothing else (S112). */
import { createReadStream } from "node:fs";
import type { StepProgress } from "../core/build-script.ts";
import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import type { ChosenImage } from "../core/image-record.ts";
import type { LayerId, LayerInfo } from "../core/layer.ts";
import type { Builder, LayerBuilder } from "../core/layer-builder.ts";
import type { Registries } from "../core/package.ts";
import type { Caller } from "../core/principal.ts";
import type { ArchiveBody, ResolvedPackage, ServerSource } from "../core/server.ts";
import { boundedLog } from "./bounded-log.ts";
import { buildArchive } from "./build-archive.ts";
import { buildFailure } from "./build-failure.ts";
import { serverBuildLimits } from "./build-limits.ts";
import { buildPackage } from "./build-package.ts";
import { clean, compile, prepare } from "./build-scripts.ts";
import { checkCommand } from "./check-command.ts";
import { type BuildInputs, inputsDigest } from "./inputs-digest.ts";
import { resolvedPackages } from "./installed-packages.ts";
import { type Claims, PackageInstaller } from "./package-installer.ts";

export interface BuildRequest {
  source: Exclude<ServerSource, { kind: "remote" }>;
  /** Gzipped tar of an archive source: the path where it is stored, or its bytes. */
  archive?: string | ArchiveBody;
  image: ChosenImage;
  /** Starts the server; null: what the build finds. */
  command: readonly string[] | null;
}

/** Hears of a build as it goes on. */
export interface BuildWatch {
  step(name: string): void | Promise<void>;
  log(text: string): void | Promise<void>;
  signal: AbortSignal;
}

export interface BuiltServer {
  layerId: LayerId;
  /** Size of the layer, without the image below it. */
  bytes: number;
  /** Words that start the server, in /app. */
  command: readonly string[];
  packages: readonly ResolvedPackage[];
  /** With the exact version of a package. */
  source: ServerSource;
}

export interface ServerBuilderParts {
  layers: Pick<LayerBuilder, "build">;
  fleet: Pick<Fleet<unknown>, "build">;
  registries: () => Promise<Registries>;
  /** Packages as a package manager reports them, from its file in the sandbox. */
  claims: Claims;
  limits?: Partial<Record<"buildMs" | "stepMs" | "memoryBytes" | "storageBytes" | "unpackedBytes", number>>;
}

type Grown = Pick<BuiltServer, "command" | "source">;

export class ServerBuilder {
  readonly #parts: ServerBuilderParts;

  constructor(parts: ServerBuilderParts) {
    this.#parts = parts;
  }

  /** The same digest means the same build: its layer can be used again in its namespace. */
  async inputsDigest(inputs: Omit<BuildInputs, "registries">): Promise<string> {
    return inputsDigest({ ...inputs, registries: await this.#parts.registries() });
  }

  /** Waits for a place in the queue, as builds of images do. */
  async build(caller: Caller, request: BuildRequest, watch: BuildWatch): Promise<BuiltServer> {
    if (request.image.layerId === null)
      throw new AppError("invalid", `the image ${request.image.name} cannot hold servers`, {
        hint: "use mcp-runtime, or another image that is no part of this machine",
      });
    const { buildMs = serverBuildLimits.buildMs } = this.#parts.limits ?? {};
    const late = AbortSignal.timeout(buildMs);
    const signal = AbortSignal.any([watch.signal, late]);
    let step = "queue";
    const begin = async (name: string) => {
      signal.throwIfAborted();
      step = name;
      await watch.step(name);
    };
    const log = boundedLog((text) => watch.log(text));
    try {
      return await this.#parts.fleet.build(caller, signal, () => this.#make(request, { begin, log, signal }));
    } catch (error) {
      const isFull = error instanceof AppError && error.retryAfterMs !== undefined;
      if (watch.signal.aborted || isFull) throw error;
      const isLate = late.aborted && signal.reason === late.reason;
      throw buildFailure(
        step,
        isLate ? new AppError("timeout", `it took too long (limit: ${buildMs / 1000} s)`) : error,
      );
    }
  }

  async #make(request: BuildRequest, progress: StepProgress): Promise<BuiltServer> {
    const { layers, registries, claims, limits = {} } = this.#parts;
    const { memoryBytes, storageBytes, stepMs } = { ...serverBuildLimits, ...limits };
    const grown = Promise.withResolvers<Grown & Pick<BuiltServer, "packages">>();
    const ground = { root: request.image.layerId, over: true, limits: { memoryBytes, storageBytes } };
    const { id, bytes }: LayerInfo = await layers.build(ground, async (builder) => {
      const steps = { builder, progress, stepMs };
      const installer = new PackageInstaller({ ...steps, registries: await registries(), claims });
      const { command, source } = await this.#grow(request, installer, steps);
      const packages = resolvedPackages(installer.delivered, await installer.claims());
      await builder.run(compile, progress, { timeoutMs: stepMs });
      await progress.begin("entry");
      await checkCommand(builder.files, command);
      await builder.run(clean, progress, { timeoutMs: stepMs });
      await progress.begin("freeze");
      grown.resolve({ command, source, packages });
    });
    return { layerId: id, bytes, ...(await grown.promise) };
  }

  async #grow(request: BuildRequest, installer: PackageInstaller, steps: BuildSteps): Promise<Grown> {
    const { source, archive, command } = request;
    await steps.builder.run(prepare, steps.progress, { timeoutMs: steps.stepMs });
    if (source.kind !== "archive") return buildPackage(source, command, installer, steps);
    if (archive === undefined) throw new AppError("invalid", "the request has no archive");
    const { unpackedBytes } = this.#parts.limits ?? {};
    const body = typeof archive === "string" ? createReadStream(archive) : archive;
    return { source, command: await buildArchive(body, command, installer, steps, unpackedBytes) };
  }
}

/** A sandbox in which a server is built. */
export interface BuildSteps {
  builder: Builder;
  progress: StepProgress;
  stepMs: number;
}
