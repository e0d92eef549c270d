import type { StepProgress } from "../core/build-script.ts";
import { StepFailure } from "../core/build-script.ts";
import { messageOf } from "../core/errors.ts";
import type { LayerId } from "../core/layer.ts";
import { hidePaths } from "../lib/hide-paths.ts";
import { buildLimits } from "./limits.ts";

/** A build under way, as its steps see it. */
export interface Progress extends StepProgress {
  /** A layer that is there for a while: known before anything can end this process, so that the next one removes it. */
  holds(layerId: LayerId | null): Promise<void>;
}

/** With the step that failed in front, and no more of it than a record holds. */
export function explainFailure(step: string | null, error: unknown): string {
  const why = error instanceof StepFailure ? error.message : hidePaths(messageOf(error));
  return `${step ?? "before its first step"}: ${why}`.slice(0, buildLimits.errorCharacters);
}
