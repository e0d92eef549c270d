import { AppError } from "../../core/errors.ts";
import type { SandboxRecords } from "../../core/sandbox-record.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Sandbox } from "../sandbox.ts";
import { fleetLimits } from "./limits.ts";
import type { SandboxMaker } from "./maker.ts";
import type { Provisioner } from "./provisioner.ts";

export interface RemovalsParts {
  maker: Pick<SandboxMaker, "destroySandbox">;
  records: Pick<SandboxRecords, "delete">;
  provisioner: Pick<Provisioner, "release">;
  clock: Clock;
}

/** Boundaries that must go. One that could not be removed is tried again until it is gone. */
export class Removals {
  readonly #parts: RemovalsParts;
  readonly #failed = new Map<string, number>();
  readonly #underWay = new Set<string>();

  constructor(parts: RemovalsParts) {
    this.#parts = parts;
  }

  async remove(id: string, sandbox?: Sandbox): Promise<void> {
    this.#underWay.add(id);
    try {
      if (sandbox === undefined) await this.#parts.maker.destroySandbox(id).catch(ignoreMissing);
      else await sandbox.destroy();
      this.#failed.delete(id);
      await this.#parts.provisioner.release(id);
      await this.#parts.records.delete(id);
    } catch (error) {
      this.#failed.set(id, this.#parts.clock.monotonicMs() + fleetLimits.removeAgainMs);
      throw error;
    } finally {
      this.#underWay.delete(id);
    }
  }

  /** Those that failed and may be tried again now. */
  due(): string[] {
    const now = this.#parts.clock.monotonicMs();
    return [...this.#failed].flatMap(([id, atMs]) => (atMs <= now && !this.#underWay.has(id) ? [id] : []));
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof AppError && error.code === "not_found")) throw error;
}
