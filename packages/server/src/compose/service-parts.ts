import type { Caisson } from "../app.ts";
import type { Oversight } from "../caisson-parts.ts";
import type { ApprovalSettings } from "../core/approval.ts";
import type { AptSources } from "../core/apt.ts";
import type { FleetSettings } from "../core/fleet.ts";
import type { CatalogueEntry } from "../core/image-spec.ts";
import type { PackageManager, Registries } from "../core/package.ts";
import type { RecordOptions } from "../core/run-record.ts";
import type { Policies } from "../egress/policies.ts";
import type { OpenedHost } from "../host-access/open-host.ts";
import type { JournalParts } from "../journal/stored-journal.ts";
import type { Clock } from "../lib/clock.ts";
import type { Restore } from "../sandboxes/fleet/creation.ts";
import type { SandboxMaker } from "../sandboxes/fleet/maker.ts";
import type { StoreOptions } from "../store/open-store.ts";
import type { VaultOptions } from "../vault/open-vault.ts";

/** What a service is made of and goes by. */
export interface ServiceParts {
  /** Where database and blobs lie. */
  folder: string;
  /** The store, where it has another path or is being opened already. */
  opening?: Partial<Pick<StoreOptions, "path" | "client" | "signer">>;
  /** What sandboxes may reach, as the configuration says. */
  policies: Policies;
  /** How long records of runs stay; none are kept unless given. */
  records?: RecordOptions | undefined;
  /** Opens what makes sandboxes. It stays its opener's. */
  openCaisson: (given: { policies: Policies; oversight: Oversight }) => Caisson;
  /** Makes the sandboxes of the fleet. Default: the Caisson. */
  maker?: SandboxMaker;
  settings: FleetSettings;
  approvals: ApprovalSettings;
  /** Maximum rules of one sandbox. */
  sandboxRules?: number;
  /** Where packages come from; nothing is installed unless given. */
  packages?: PackageSettings;
  /** The machine around it; closed unless given. */
  host?: OpenedHost | undefined;
  /** Keeps all layers: those of the data folder are a daemon's, and this is none. Default: false. */
  leavesLayers?: boolean;
  /** Disk usage (percent) that triggers garbage collection. Default: only on request. */
  gcWatermarkPercent?: number;
  /** Search providers, in their order; none unless given. */
  search?: readonly string[];
  /** Image of the browser that opens pages. Default: `browser`. */
  browserImage?: string;
  /** Maximum size of the audit entries of one namespace. */
  auditBytes?: number;
  clock: Clock;
  /** Fills a new sandbox from a snapshot; from the storage here unless given. */
  restore?: Restore;
  /** Default: an empty vault with a key of its own. */
  vault?: VaultOptions;
  /** Called with each event before its readers get it. */
  onEvent?: JournalParts["onEvent"];
  onError: (error: unknown) => void;
}

export interface PackageSettings {
  registries: Registries;
  /** Those of `packages`, where they are looked for when something is first installed. */
  findRegistries?: () => Promise<Registries>;
  /** Refuses packages without a version. Default: false. */
  mustPin: boolean;
  /** Hosts that packages come from, as entries of a map. */
  knownHosts?: readonly (readonly [string, PackageManager | "apt"])[];
  /** Where packages of images come from; none are made unless given. */
  apt?: AptSources;
  /** Registries of images, on this machine and its networks, that may be asked. */
  imageRegistries?: readonly string[];
  /** Registries, or repositories of them, whose images sandboxes pull by asking for them; none unless given. */
  pulls?: readonly string[];
  /** Specifications that come with the program. */
  catalogue?: readonly CatalogueEntry[];
  /** Builds an image when a sandbox first asks for it. Default: false. */
  makesCatalogue?: boolean;
  /** Bytes of downloads that are kept for the next that asks. Default: 0. */
  keepBytes?: number;
}
