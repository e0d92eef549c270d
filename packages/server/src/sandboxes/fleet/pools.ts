import type { EngineName } from "../../core/engine.ts";
import { AppError, isDiskFull } from "../../core/errors.ts";
import type { FleetSettings, PoolStatus } from "../../core/fleet.ts";
import type { ChosenImage } from "../../core/image-record.ts";
import type { LayerId } from "../../core/layer.ts";
import { hasLimits, resolveSandboxLimits } from "../../core/request.ts";
import { defined } from "../../lib/defined.ts";
import { poolLimits } from "./limits.ts";
import type { SandboxMaker } from "./maker.ts";
import { type Candidate, type PoolParts, WarmPool } from "./pool.ts";
import type { ResolvedRequest } from "./resolve-defaults.ts";
import type { Slots } from "./slots.ts";

export type Taken = Candidate | { cold: string };

/** What one pool has of its own. */
type PoolKind = Pick<PoolParts, "make" | "image" | "engine" | "size" | "limits" | "warm">;
type SharedParts = Omit<PoolParts, keyof PoolKind | "quietMs"> & {
  maker: Pick<SandboxMaker, "createSandbox">;
  starts: Slots;
};
type PoolSettings = Pick<FleetSettings, "poolSize" | "poolQuietMs" | "limits">;

/** The pools of a fleet: one for each image and engine that somebody has asked for, or is likely to. */
export class Pools {
  readonly #parts: SharedParts;
  readonly #settings: PoolSettings;
  readonly #pools = new Map<string, WarmPool>();
  #closed = false;

  constructor(parts: SharedParts, settings: PoolSettings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  /**
   * A warm one, or why there is none for this request: that one starts cold and says so. One that has to be given more than
   * its name must answer meanwhile.
   */
  async take(resolved: ResolvedRequest, engine: EngineName, hasSecrets: boolean): Promise<Taken> {
    if (resolved.inputFolder !== null) return { cold: "its input folder is copied as it starts" };
    if (resolved.outputFolder !== null) return { cold: "its output folder is looked at as it starts" };
    const pool = this.#pools.get(nameOf(resolved.image, engine));
    if (pool === undefined) return { cold: "there is no pool" };
    const cold = whyCold(resolved, pool);
    if (cold !== undefined) return { cold };
    const mustAsk = hasSecrets || resolved.snapshotId !== null || !hasLimits(resolved.limits, pool.limits);
    const taken = pool.isComing ? await pool.takeComing(mustAsk) : pool.take(mustAsk);
    return taken ?? { cold: "the pool is empty" };
  }

  /** For what works here: a pool that can never be filled would try for ever. */
  open(image: ChosenImage, engine: EngineName): void {
    const { maker, starts } = this.#parts;
    const { poolSize: size } = this.#settings;
    const limits = resolveSandboxLimits(this.#settings.limits);
    const root = defined({ root: image.layerId ?? undefined });
    const options = { engine, limits, warm: "first-use", ...root, keep: true, fleet: true } as const;
    const make: PoolKind["make"] = (begin) =>
      starts.withPatience(() => {
        begin();
        return maker.createSandbox(options);
      });
    this.add(nameOf(image, engine), { make, image, engine, size, limits, warm: options.warm })?.fill();
  }

  /** Undefined where there is one of that name, or no place for one more. */
  add(name: string, kind: PoolKind): WarmPool | undefined {
    const { poolSize, poolQuietMs: quietMs = poolLimits.quietMs } = this.#settings;
    const isFull = poolSize === 0 || this.#pools.size >= poolLimits.pools;
    if (this.#closed || this.#pools.has(name) || isFull) return undefined;
    const pool = new WarmPool({ ...this.#parts, ...kind, quietMs });
    this.#pools.set(name, pool);
    return pool;
  }

  get(name: string): WarmPool | undefined {
    return this.#pools.get(name);
  }

  async remove(name: string): Promise<void> {
    const pool = this.#pools.get(name);
    this.#pools.delete(name);
    await pool?.close();
  }

  /** Of an image that nobody is to start any more. */
  async empty(layerId: LayerId): Promise<void> {
    for (const [name, pool] of this.#pools) {
      if (pool.image.layerId !== layerId) continue;
      this.#pools.delete(name);
      await pool.close();
    }
  }

  /** A start that finds no room on the disk has that of those that nobody asked for, one after the other. */
  async makeRoom<T>(start: () => Promise<T>): Promise<T> {
    for (const gave: WarmPool[] = []; ; ) {
      try {
        return await start();
      } catch (error) {
        const fullest = [...this.#pools.values()].sort((one, other) => other.readyCount - one.readyCount)[0];
        if (!(error instanceof AppError && isDiskFull(error)) || !fullest?.readyCount) {
          for (const pool of gave) pool.fill(); // it was for nothing
          throw error;
        }
        gave.push(fullest);
        await fullest.giveWay();
      }
    }
  }

  status(): PoolStatus[] {
    return [...this.#pools.values()].map((pool) => pool.status());
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }
}

function nameOf({ layerId }: ChosenImage, engine: EngineName): string {
  return `${engine} ${layerId ?? ""}`;
}

/** What cannot be changed once a boundary stands. */
function whyCold({ limits, warm }: ResolvedRequest, pool: WarmPool): string | undefined {
  if (limits.storageBytes !== pool.limits.storageBytes) return "it asks for other storage than those in the pool have";
  if (warm !== pool.warm) return "it asks for other warm interpreters than those in the pool have";
  return undefined;
}
