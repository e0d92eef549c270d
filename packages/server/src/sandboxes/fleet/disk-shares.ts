import { type DiskRoom, showGibibytes } from "../../core/disk-room.ts";
import { AppError } from "../../core/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { diskShareLimits } from "./disk-share-limits.ts";
import type { FleetParts } from "./fleet-parts.ts";
import type { Registry } from "./registry.ts";

interface ShareParts {
  registry: Pick<Registry, "storageOf">;
  diskRoom: () => Promise<DiskRoom>;
  /** Share of all that can be promised. */
  percent: number;
  clock: Pick<Clock, "monotonicMs">;
  onError: (error: unknown) => void;
}

/** How much of the disk each namespace may hold, so that none takes what others need for a sandbox (S92). */
export class DiskShares {
  readonly #parts: ShareParts;
  /** Promised to sandboxes that are being made, by namespace. */
  readonly #coming = new Map<string, number>();
  #room: DiskRoom | undefined;
  #countedMs = 0;
  #counting: Promise<DiskRoom> | undefined;

  constructor(parts: ShareParts) {
    this.#parts = parts;
  }

  /** Counts until it is disposed of; what was made is a member by then, and counted as such. */
  async reserve(namespace: string, sizeBytes: number): Promise<Disposable> {
    const fits = (room: DiskRoom | undefined) =>
      room !== undefined && this.#heldBy(namespace) + sizeBytes <= this.#share(room);
    // Nobody waits for a count unless it decides.
    if (fits(this.#room)) this.#countSoon();
    else {
      const room = await this.#count();
      if (!fits(room)) throw this.#refusal(namespace, sizeBytes, room);
    }
    this.#add(namespace, sizeBytes);
    return { [Symbol.dispose]: () => this.#add(namespace, -sizeBytes) };
  }

  #heldBy(namespace: string): number {
    return this.#parts.registry.storageOf(namespace) + (this.#coming.get(namespace) ?? 0);
  }

  #share({ freeBytes, writtenBytes }: DiskRoom): number {
    return ((freeBytes + writtenBytes) * this.#parts.percent) / 100;
  }

  #add(namespace: string, bytes: number): void {
    const coming = (this.#coming.get(namespace) ?? 0) + bytes;
    if (coming === 0) this.#coming.delete(namespace);
    else this.#coming.set(namespace, coming);
  }

  #countSoon(): void {
    if (this.#parts.clock.monotonicMs() - this.#countedMs > diskShareLimits.countedMs)
      this.#count().catch(this.#parts.onError);
  }

  #count(): Promise<DiskRoom> {
    this.#counting ??= this.#parts
      .diskRoom()
      .then((room) => {
        this.#room = room;
        this.#countedMs = this.#parts.clock.monotonicMs();
        return room;
      })
      .finally(() => {
        this.#counting = undefined;
      });
    return this.#counting;
  }

  #refusal(namespace: string, sizeBytes: number, room: DiskRoom): AppError {
    const { percent } = this.#parts;
    const [heldBytes, shareBytes] = [this.#heldBy(namespace), Math.max(0, Math.floor(this.#share(room)))];
    const [held, size, share] = [heldBytes, sizeBytes, shareBytes].map(showGibibytes);
    return new AppError(
      "limit_exceeded",
      `not enough disk space for ${size}: the namespace uses ${held} of its share of ${share} (namespace_storage_percent: ${percent})`,
      {
        hint: "set a smaller storage_mb, or destroy sandboxes; an administrator can raise namespace_storage_percent",
        details: { sizeBytes, heldBytes, shareBytes, reserveBytes: room.reserveBytes },
      },
    );
  }
}

export function openShares(
  { maker, settings, clock, onError }: Pick<FleetParts, "maker" | "settings" | "clock" | "onError">,
  registry: Registry,
): DiskShares {
  const percent = settings.namespaceStoragePercent;
  return new DiskShares({ registry, diskRoom: () => maker.diskRoom(), percent, clock, onError });
}
