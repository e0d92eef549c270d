import { AppError } from "../../core/errors.ts";
import type {
  Collector,
  CollectRequest,
  DiskRoom,
  Freed,
  GcReport,
  GcTrigger,
  Holding,
  KindReport,
} from "../../core/gc.ts";
import type { Recorder } from "../../core/journal.ts";
import type { Caller } from "../../core/principal.ts";
import { Turn } from "../../lib/turn.ts";

export interface CollectionParts {
  collectors: readonly Collector[];
  /** Of the data folder. */
  disk: () => Promise<DiskRoom>;
  journal: Recorder;
  onError: (error: unknown) => void;
}

/** Who collects when nobody asked. */
const system: Caller = {
  principal: { id: "system", name: "system", namespace: "default", role: "admin" },
  requestId: "",
};

const nothing: Holding = { bytes: 0, unused: { items: 0, bytes: 0 }, cacheBytes: 0 };

/** Clears the data folder of what nothing uses, kind by kind, one collection at a time. A kind that fails leaves the others to go on. */
export class GarbageCollection {
  readonly #parts: CollectionParts;
  readonly #turn = new Turn();

  constructor(parts: CollectionParts) {
    this.#parts = parts;
  }

  run(caller: Caller, { dryRun = false, cache = false }: CollectRequest = {}): Promise<GcReport> {
    return this.#turn.take(() => this.#run(caller, "asked", dryRun, cache ? Number.MAX_SAFE_INTEGER : 0));
  }

  /** `cacheBytes`: how much of what can be fetched again goes with it. */
  runBySelf(trigger: Exclude<GcTrigger, "asked">, cacheBytes: number): Promise<GcReport> {
    return this.#turn.take(() => this.#run(system, trigger, false, cacheBytes));
  }

  /** The kinds that take more than they may. */
  overBudget(): Promise<string[]> {
    return this.#turn.take(async () => {
      const over: string[] = [];
      for (const collector of this.#parts.collectors)
        if ((await collector.look()).bytes > collector.budgetBytes) over.push(collector.kind);
      return over;
    });
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await this.#turn.settled;
  }

  async #run(caller: Caller, trigger: GcTrigger, dryRun: boolean, cacheBytes: number): Promise<GcReport> {
    const { collectors, disk, journal } = this.#parts;
    const report: GcReport = { trigger, dryRun, disk: await disk(), kinds: [], freed: { items: 0, bytes: 0 } };
    const looks: Look[] = [];
    for (const collector of collectors) looks.push(await this.#look(collector));
    // On a disk that others fill it would say every few minutes that there was nothing to do.
    if (trigger !== "asked" && !looks.some(hasSomething)) return report;
    if (!dryRun) await journal.record({ type: "gc.started", by: caller, data: { trigger } });
    const { kinds, freed } = report;
    for (const look of looks) {
      const kind = await this.#collect(look, dryRun, cacheBytes - freed.bytes);
      kinds.push(kind);
      freed.items += kind.freed.items;
      freed.bytes += kind.freed.bytes;
    }
    if (!dryRun) {
      const data = { trigger, freed_items: freed.items, freed_bytes: freed.bytes };
      await journal.record({ type: "gc.completed", by: caller, data });
    }
    return report;
  }

  async #look(collector: Collector): Promise<Look> {
    try {
      return { collector, held: await collector.look(), error: null };
    } catch (error) {
      return { collector, held: nothing, error: this.#tell(error) };
    }
  }

  async #collect({ collector, held, error }: Look, dryRun: boolean, cacheBytes: number): Promise<KindReport> {
    const { kind, budgetBytes } = collector;
    const report = { kind, bytes: held.bytes, budgetBytes, things: held.things ?? [] };
    if (error !== null) return { ...report, freed: { items: 0, bytes: 0 }, error };
    const over = Math.max(0, held.bytes - held.unused.bytes - budgetBytes);
    const cache = Math.min(held.cacheBytes, Math.max(0, over, cacheBytes));
    try {
      return { ...report, freed: dryRun ? would(held, cache) : await collector.collect(cache), error };
    } catch (error) {
      return { ...report, freed: { items: 0, bytes: 0 }, error: this.#tell(error) };
    }
  }

  #tell(error: unknown): string {
    this.#parts.onError(error);
    return error instanceof AppError && error.code !== "internal" ? error.message : "it failed; the log says why";
  }
}

interface Look {
  collector: Collector;
  held: Holding;
  /** Why it could not be measured. */
  error: string | null;
}

function hasSomething({ held: { unused, cacheBytes } }: Look): boolean {
  return unused.items > 0 || cacheBytes > 0;
}

function would({ unused }: Holding, cacheBytes: number): Freed {
  return { items: unused.items, bytes: unused.bytes + cacheBytes };
}
