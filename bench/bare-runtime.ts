import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { EngineName } from "../packages/server/src/core/engine.ts";
import { makeRootfs, writeBundle } from "./bare-bundle.ts";
import { runtimePaths } from "./machine.ts";
import { type Outcome, type RunOptions, runProgram } from "./program.ts";

const flags: Record<EngineName, readonly string[]> = {
  container: [],
  gvisor: ["--network=none", "--gofer-network-namespace=new", "--platform=systrap"],
};

/** runc or runsc by hand: the same boundary without Caisson. */
export class BareRuntime {
  readonly path: string;
  readonly #engine: EngineName;
  readonly #folder: string;
  #count = 0;

  private constructor(engine: EngineName, folder: string) {
    this.path = runtimePaths[engine];
    this.#engine = engine;
    this.#folder = folder;
  }

  /** `home` must be readable for the container's user. */
  static async prepare(engine: EngineName, home: string): Promise<BareRuntime> {
    const folder = join(home, `bare-${engine}`);
    await mkdir(join(folder, "state"), { recursive: true, mode: 0o755 });
    await makeRootfs(join(folder, "rootfs"));
    return new BareRuntime(engine, folder);
  }

  get command(): string {
    return [this.path, ...flags[this.#engine], "run"].join(" ");
  }

  async bundle(name: string, args: readonly string[]): Promise<string> {
    const path = join(this.#folder, name);
    await writeBundle(path, args, join(this.#folder, "rootfs"));
    return path;
  }

  run(bundle: string, options: RunOptions = {}): Promise<Outcome> {
    const id = `bench-${process.pid}-${this.#engine}-${this.#count++}`;
    const state = `--root=${join(this.#folder, "state")}`;
    return runProgram(this.path, [state, ...flags[this.#engine], "run", `--bundle=${bundle}`, id], options);
  }
}
