/** What a fleet has in place of what it was not given. */
import { chooseImage } from "../../core/choose-image.ts";
import type { FleetEgress } from "../../core/egress-policies.ts";
import { AppError } from "../../core/errors.ts";
import type { ImageChoice } from "../../core/image-record.ts";
import type { TemplateChoice } from "../../core/template.ts";

/** Where nobody can bring images. */
export const hostAlone: ImageChoice = { choose: (image) => chooseImage([], image, []) };

const noWayOut = () => {
  throw new AppError("unsupported", "network access is not available here");
};
export const noEgress: Pick<FleetEgress, "check" | "openRun"> = { check: noWayOut, openRun: noWayOut };

export async function noSnapshots(): Promise<never> {
  throw new AppError("unsupported", "snapshots are not available here");
}

export const noTemplates: TemplateChoice = {
  choose: () => {
    throw new AppError("unsupported", "templates are not available here");
  },
  warmUpOf: () => null,
};
