import type { Migration } from "../migrate.ts";
import { first } from "./0001-first.ts";
import { snapshotsAndSkills } from "./0002-snapshots-and-skills.ts";
import { webhooks } from "./0003-webhooks.ts";
import { outputFolders } from "./0004-output-folders.ts";
import { approvals } from "./0005-approvals.ts";
import { keptArtifacts } from "./0006-kept-artifacts.ts";
import { secrets } from "./0007-secrets.ts";
import { egress } from "./0008-egress.ts";
import { ports } from "./0009-ports.ts";
import { packages } from "./0010-packages.ts";
import { skillVersions } from "./0011-skill-versions.ts";
import { images } from "./0012-images.ts";
import { sandboxIndexes } from "./0013-sandbox-indexes.ts";
import { templates } from "./0014-templates.ts";
import { checkpoints } from "./0015-checkpoints.ts";
import { sandboxesById } from "./0016-sandboxes-by-id.ts";
import { intake } from "./0017-intake.ts";

/** In their order. One that was released never changes: a new one follows it. */
export const migrations: readonly Migration[] = [
  first,
  snapshotsAndSkills,
  webhooks,
  outputFolders,
  approvals,
  keptArtifacts,
  secrets,
  egress,
  ports,
  packages,
  skillVersions,
  images,
  sandboxIndexes,
  templates,
  checkpoints,
  sandboxesById,
  intake,
];
