import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Check } from "../core/diagnosis.ts";
import type { Engine, EngineName, EngineProbe, KeptSandbox } from "../core/engine.ts";
import type { EngineSource } from "../core/engine-source.ts";
import { AppError, errnoOf } from "../core/errors.ts";
import type { RootImage } from "../core/image.ts";
import type { PackageFolder } from "../core/package.ts";
import type { EngineChoice } from "../core/request.ts";
import { Once } from "../lib/once.ts";
import { checkHost } from "./machine-checks.ts";
import { createOciEngine } from "./oci/engine.ts";
import type { OciEngineOptions } from "./oci/engine-options.ts";
import { engineOfKept, listKept } from "./oci/kept.ts";
import { probeOciEngine, recallProbe } from "./oci/probe.ts";
import { prepareHostImage } from "./root/host-image.ts";
import { kernelEntries } from "./root/kernels.ts";

/** Strongest first: what `auto` tries. */
const engineOrder: readonly EngineName[] = ["gvisor", "container"];

export interface LocalEngineOptions {
  /** The data folder. */
  home: string;
  /** Where the compiled programs are. */
  bin: string;
  /** Another guest than the one built here. */
  guestPath?: string;
  /** Runtimes that do not lie where system programs do. */
  runtimePaths?: Partial<Record<EngineName, string>>;
  /** Folders of this machine that sandboxes install packages from. */
  packageFolders?: readonly PackageFolder[];
  /** Who may open the wires of sandboxes; this process unless named. */
  owner?: { uid: number; gid: number };
  onLaunch?: () => void;
  onError: (error: unknown) => void;
}

/** The engines of this process. */
export class LocalEngines implements EngineSource {
  readonly #options: LocalEngineOptions;
  readonly #engines = new Map<EngineName, Promise<Engine>>();
  readonly #image = new Once<RootImage>();

  constructor(options: LocalEngineOptions) {
    this.#options = options;
  }

  open(name: EngineName): Promise<Engine> {
    const known = this.#engines.get(name);
    if (known !== undefined) return known;
    const opened = this.#engineOptions(name).then(createOciEngine);
    this.#engines.set(name, opened);
    opened.catch(() => this.#engines.delete(name)); // what is mended can be tried again
    return opened;
  }

  async choose(choice: EngineChoice): Promise<EngineName> {
    if (choice !== "auto") return choice;
    const failures: string[] = [];
    for (const name of engineOrder) {
      const probe = await recallProbe(await this.#engineOptions(name));
      if (probe.usable) return name;
      failures.push(`${name}: ${probe.detail}`);
    }
    throw new AppError("unsupported", `no engine works on this machine (${failures.join("; ")})`, {
      hint: "caisson doctor shows how to fix this",
    });
  }

  kept(): Promise<KeptSandbox[]> {
    return listKept(this.#options.home, this.#options.onError);
  }

  engineOfKept(id: string): Promise<EngineName | undefined> {
    return engineOfKept(this.#options.home, id);
  }

  async searchPath(): Promise<string> {
    return (await this.#hostImage()).searchPath;
  }

  async probe(): Promise<EngineProbe[]> {
    const probes: EngineProbe[] = [];
    for (const name of engineOrder) probes.push(await probeOciEngine(await this.#engineOptions(name)));
    return probes;
  }

  checkHost(): Promise<Check[]> {
    return checkHost(this.#options.home);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await Promise.allSettled(this.#engines.values());
    this.#engines.clear();
    for (const engine of opened) if (engine.status === "fulfilled") await engine.value[Symbol.asyncDispose]();
  }

  #hostImage(): Promise<RootImage> {
    return this.#image.get(() => this.#prepare());
  }

  async #prepare(): Promise<RootImage> {
    const { home } = this.#options;
    try {
      await mkdir(home, { recursive: true, mode: 0o711 });
    } catch (error) {
      throw new AppError("unavailable", `cannot create the data folder ${home}: ${errnoOf(error)}`, {
        hint: "set CAISSON_HOME to a folder that you can write",
        cause: error,
      });
    }
    return prepareHostImage({ home, nodePath: process.execPath });
  }

  async #engineOptions(name: EngineName): Promise<OciEngineOptions> {
    const { home, bin, guestPath, runtimePaths, packageFolders = [], owner, onLaunch, onError } = this.#options;
    const image = await this.#hostImage();
    const standby = { kind: "bind", path: "/.caisson/standby.so", source: join(bin, "caisson-standby") } as const;
    const reseed = { kind: "bind", path: "/.caisson/reseed.so", source: join(bin, "caisson-reseed") } as const;
    const folders = packageFolders.map(({ path, source }) => ({ kind: "bind", path, source }) as const);
    const runtimePath = runtimePaths?.[name];
    return {
      name,
      home,
      image: { ...image, additions: [...image.additions, ...kernelEntries(bin), standby, reseed, ...folders] },
      guestPath: guestPath ?? join(bin, "caisson-guest"),
      helperPath: join(bin, "caisson-helper"),
      onError,
      ...(owner === undefined ? {} : { owner }),
      ...(onLaunch === undefined ? {} : { onLaunch }),
      ...(runtimePath === undefined ? {} : { runtimePath }),
    };
  }
}
