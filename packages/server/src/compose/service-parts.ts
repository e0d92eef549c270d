import type { Caisson } from "../app.ts";
import type { Oversight } from "../caisson-parts.ts";
import type { ApprovalSettings } from "../core/approval.ts";
import type { AptSources } from "../core/apt.ts";
import type { FleetSettings } from "../core/fleet.ts";
import type { CatalogueEntry } from "../core/image-spec.ts";
import type { PackageManager, Registries } from "../core/package.ts";
import type { RecordOptions } from "../core/run-record.ts";
import type { ActivePolicies } from "../egress/active-policies.ts";
import type { OpenedHost } from "../host-access/open-host.ts";
import type { JournalParts } from "../journal/stored-journal.ts";
import type { Clock } from "../lib/clock.ts";
import type { Restore } from "../sandboxes/fleet/creation.ts";
import type { SandboxMaker } from "../sandboxes/fleet/maker.ts";
import type { StoreOptions } from "../store/open-store.ts";
import type { VaultOptions } from "../vault/open-vault.ts";
import type { OpenVersionBuilder } from "./servers.ts";

/** Parts and settings of a service. */
export interface ServiceParts {
  /** Folder of the database, the blobs and the logs. */
  folder: string;
  /** Another path of the database, or a database that is being opened already. */
  opening?: Partial<Pick<StoreOptions, "path" | "client" | "signer">>;
  /** Network policies, as configured. */
  policies: ActivePolicies;
  /** Retention of records of runs. Default: none are kept. */
  records?: RecordOptions | undefined;
  /** Opens what makes sandboxes. It stays its opener's. */
  openCaisson: (given: { policies: ActivePolicies; oversight: Oversight }) => Caisson;
  /** Makes the sandboxes of the fleet. Default: the Caisson. */
  maker?: SandboxMaker;
  settings: FleetSettings;
  approvals: ApprovalSettings;
  /** Maximum rules of one sandbox. */
  sandboxRules?: number;
  /** Sources of packages and images. Default: nothing is installed. */
  packages?: PackageSettings;
  /** Access to the host. Default: closed. */
  host?: OpenedHost | undefined;
  /** Keeps all layers: those of the data folder are a daemon's, and this is none. Default: false. */
  leavesLayers?: boolean;
  /** Disk usage (percent) that triggers garbage collection. Default: only on request. */
  gcWatermarkPercent?: number;
  /** Search providers, in their order. Default: none. */
  search?: readonly string[];
  /** Image of the browser that opens pages. Default: `browser`. */
  browserImage?: string;
  /** Maximum size of the audit entries of one namespace. */
  auditBytes?: number;
  /** Builds the code of hosted servers. Default: from the machine's registries. */
  versionBuilder?: OpenVersionBuilder;
  clock: Clock;
  /** Fills a new sandbox from a snapshot. Default: from the service's own storage. */
  restore?: Restore;
  /** Default: an empty vault with a key of its own. */
  vault?: VaultOptions;
  /** Called with each event before its readers get it. */
  onEvent?: JournalParts["onEvent"];
  onError: (error: unknown) => void;
}

export interface PackageSettings {
  registries: Registries;
  /** Finds the registries at the first installation. Default: `registries`. */
  findRegistries?: () => Promise<Registries>;
  /** Refuses packages without a version. Default: false. */
  mustPin: boolean;
  /** Hosts that packages come from, as entries of a map. */
  knownHosts?: readonly (readonly [string, PackageManager | "apt"])[];
  /** Sources of Debian packages for images. Default: no images are made. */
  apt?: AptSources;
  /** Image registries on this machine and its networks that may be used. */
  imageRegistries?: readonly string[];
  /** Registries or repositories whose images sandboxes pull by asking for them. Default: none. */
  pulls?: readonly string[];
  /** Specifications that come with the program. */
  catalogue?: readonly CatalogueEntry[];
  /** Builds an image when a sandbox first asks for it. Default: false. */
  makesCatalogue?: boolean;
  /** Bytes of downloaded files that are kept for later requests. Default: 0. */
  keepBytes?: number;
}
