import { statfsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { engines, ordinary } from "../harness.ts";
import { Field } from "./field.ts";
import { type Effect, type Ground, NotApplicable, type Probe } from "./probe.ts";
import { countExhaustion } from "./probes/exhaustion-counts.ts";
import { memoryExhaustion } from "./probes/exhaustion-memory.ts";
import { outputExhaustion } from "./probes/exhaustion-output.ts";
import { filesApi } from "./probes/files-api.ts";
import { guest } from "./probes/guest.ts";
import { hostFiles } from "./probes/host-files.ts";
import { kernelCalls } from "./probes/kernel-calls.ts";
import { kernelFiles } from "./probes/kernel-files.ts";
import { neighbours } from "./probes/neighbours.ts";
import { privileges } from "./probes/privileges.ts";
import { races } from "./probes/races.ts";
import { Report } from "./report.ts";

const probes: readonly Probe[] = [
  ...hostFiles,
  ...filesApi,
  ...races,
  ...kernelCalls,
  ...kernelFiles,
  ...privileges,
  ...neighbours,
  ...guest,
  ...memoryExhaustion,
  ...countExhaustion,
  ...outputExhaustion,
];

/** A twin on the host is root's; it shows the same of the probe, whoever owns the sandboxes. */
const isImpossible = ({ twin }: Probe) =>
  (twin.plainRoot === true && layeredRoot) || (ordinary && twin.inSandbox !== true);
const layeredRoot = statfsSync("/").type === 0x794c7630; // OVERLAYFS_SUPER_MAGIC

function verdictOf(effect: Effect | Error): string {
  if (effect === null) return "held";
  if (effect instanceof NotApplicable) return `not applicable: ${effect.message}`;
  return effect instanceof Error ? `error: ${effect.message}` : `ESCAPED: ${effect}`;
}

describe("escape suite", () => {
  const report = new Report();
  let field: Field;

  beforeAll(async () => {
    field = await Field.open();
  });

  afterAll(async () => {
    console.log(await report.write(probes, engines));
    await field?.[Symbol.asyncDispose]();
  });

  /** Runs it and writes down what came of it, also where it throws. */
  async function judge(attempt: Promise<Effect>, record: (effect: Effect | Error) => void): Promise<Effect> {
    try {
      const effect = await attempt;
      record(effect);
      return effect;
    } catch (error) {
      record(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  async function probe(one: Probe, engine: EngineName): Promise<Effect> {
    return judge(
      field.use(engine, one, (ground) => one.attempt(ground)),
      (effect) => report.probed(one, engine, verdictOf(effect)),
    );
  }

  async function twin(one: Probe, engine: EngineName): Promise<Effect> {
    const attempt = (ground: Ground) => one.twin.attempt(ground);
    return judge(field.use(engine, {}, attempt), (effect) =>
      report.twinned(
        one,
        one.twin.inSandbox ? engine : "host",
        effect === null ? "DOES NOT WORK" : effect instanceof Error ? `error: ${effect.message}` : `works: ${effect}`,
      ),
    );
  }

  for (const one of probes) {
    describe(one.section, () => {
      for (const engine of engines)
        it(`[SBX-18] cannot ${one.claim} (${engine})`, { timeout: 90_000 }, async ({ skip }) => {
          const effect = await probe(one, engine).catch((error: unknown) => {
            if (error instanceof NotApplicable) skip(error.message);
            throw error;
          });
          expect(effect).toBeNull();
        });
      for (const engine of one.twin.inSandbox ? engines : engines.slice(0, 1))
        it.skipIf(isImpossible(one))(
          `[SBX-18] the probe to ${one.claim} works ${one.twin.where}${one.twin.inSandbox ? ` (${engine})` : ""}`,
          async () => {
            expect(await twin(one, engine)).not.toBeNull();
          },
        );
    });
  }
});
