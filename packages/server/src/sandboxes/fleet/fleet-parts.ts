import type { Approvals } from "../../core/approval.ts";
import type { CheckpointRecords } from "../../core/checkpoint.ts";
import type { FleetEgress } from "../../core/egress-policies.ts";
import type { FleetSettings } from "../../core/fleet.ts";
import type { ImageChoice } from "../../core/image-record.ts";
import type { SecretSource } from "../../core/secret.ts";
import type { TemplateChoice } from "../../core/template.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Book } from "./book.ts";
import type { LendFiles, Restore } from "./creation.ts";
import type { Keep } from "./harvest.ts";
import type { SandboxMaker } from "./maker.ts";
import type { RunBook } from "./run-book.ts";

/** What a fleet is made of. */
export interface FleetParts extends Book {
  maker: SandboxMaker;
  clock: Clock;
  settings: FleetSettings;
  approvals: Approvals;
  runs: RunBook;
  restore?: Restore;
  lendFiles?: LendFiles;
  /** Where checkpoints are known, and what their owners knew lies, of templates too; the memory is the engine's. */
  checkpoints: { folder: string; records: CheckpointRecords; seeds: string };
  keep?: Keep;
  /** What is bound to sandboxes; nothing unless given. */
  secrets?: SecretSource;
  /** Without it nothing leaves a sandbox. */
  egress?: FleetEgress;
  /** What sandboxes are made of; the machine's own root alone unless given. */
  images?: ImageChoice;
  templates?: TemplateChoice;
  /** Told of what went wrong beside a call's own result. */
  onError: (error: unknown) => void;
}
