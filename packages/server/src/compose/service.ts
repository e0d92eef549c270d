import { arch } from "node:os";
import { join } from "node:path";
import type { Caisson, Oversight } from "../app.ts";
import { ApprovalDesk } from "../approvals/desk.ts";
import { followSandboxes } from "../approvals/follow-sandboxes.ts";
import type { ApprovalSettings } from "../core/approval.ts";
import { type AptSources, noApt } from "../core/apt.ts";
import type { ContentPolicy } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { defined } from "../core/defined.ts";
import { egressLimits } from "../core/egress-limits.ts";
import type { CreateSandbox, FleetSettings } from "../core/fleet.ts";
import type { Collector } from "../core/gc.ts";
import type { HostAccess } from "../core/host.ts";
import { buildLimits } from "../core/image-limits.ts";
import type { CatalogueEntry } from "../core/image-spec.ts";
import type { LayerId } from "../core/layer.ts";
import type { PackageManager, Registries } from "../core/package.ts";
import type { RecordOptions } from "../core/run-record.ts";
import { keptArtifactLimits } from "../core/snapshot-limits.ts";
import type { Store } from "../core/store.ts";
import { usualStorageBytes } from "../core/usual-storage.ts";
import type { Validation } from "../core/validation.ts";
import { redactorsOf } from "../dlp/redactors.ts";
import { AttemptLog } from "../egress/attempt-log.ts";
import { decide } from "../egress/decide.ts";
import { holdAnswers } from "../egress/hold-answer.ts";
import type { Policies } from "../egress/policies.ts";
import { PolicyDesk } from "../egress/policy-desk.ts";
import { type OpenedHost, readyHost } from "../host-access/open-host.ts";
import { AskedImages } from "../images/asked-images.ts";
import { FirstUse } from "../images/first-use.ts";
import { ImageBuilds } from "../images/image-builds.ts";
import { imageCollector } from "../images/image-collector.ts";
import { Images } from "../images/images.ts";
import { recordInside } from "../journal/record-inside.ts";
import { type JournalParts, StoredJournal } from "../journal/stored-journal.ts";
import { OciImages } from "../oci/oci-images.ts";
import { platformOf } from "../oci/platform.ts";
import { findPullable, readPullPlace } from "../oci/pull-places.ts";
import { forgetPackages } from "../packages/forget-packages.ts";
import { Packages } from "../packages/packages.ts";
import { noRegistries } from "../packages/read-registries.ts";
import type { Restore } from "../sandboxes/fleet/creation.ts";
import { SandboxFleet } from "../sandboxes/fleet/fleet.ts";
import type { SandboxMaker } from "../sandboxes/fleet/maker.ts";
import { RunBook } from "../sandboxes/fleet/run-book.ts";
import { checkpointCollector } from "../sandboxes/gc/checkpoint-collector.ts";
import { GarbageCollection } from "../sandboxes/gc/collection.ts";
import { downloadCollector } from "../sandboxes/gc/download-collector.ts";
import { formerLayers } from "../sandboxes/gc/former-layers.ts";
import { isOld, layerCollector } from "../sandboxes/gc/layer-collector.ts";
import { Watermark } from "../sandboxes/gc/watermark.ts";
import { openStorage, type Storage } from "../sandboxes/open-storage.ts";
import { PortDesk } from "../sandboxes/port-desk.ts";
import { FileBlobs } from "../store/blobs.ts";
import { diskRoom } from "../store/disk-room.ts";
import { FileDownloads } from "../store/downloads.ts";
import { openStore, type StoreOptions } from "../store/open-store.ts";
import { storePath } from "../store/store-path.ts";
import { TemplateBuilds } from "../templates/template-builds.ts";
import { Templates } from "../templates/templates.ts";
import { ToolCounts } from "../tools/tool-counts.ts";
import type { ToolParts } from "../tools/tool-parts.ts";
import { CodeAndDataValidation } from "../validation/validation.ts";
import { openVault, type VaultOptions } from "../vault/open-vault.ts";
import type { StoredVault } from "../vault/vault.ts";
import { readProviders } from "../web/search/providers.ts";
import { Web } from "../web/web.ts";
import { openLayerBuilder } from "./layer-builder.ts";

interface ServiceParts {
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
  /** Who makes its sandboxes, where that is not plainly the Caisson. */
  maker?: SandboxMaker;
  settings: FleetSettings;
  approvals: ApprovalSettings;
  /** That a sandbox may have of its own. */
  sandboxRules?: number;
  /** Where packages come from; nothing is installed unless given. */
  packages?: PackageSettings;
  /** The machine around it; closed unless given. */
  host?: OpenedHost | undefined;
  /** Whether the layers of the data folder are a daemon's, and this is none: they stay, whatever is written here. */
  leavesLayers?: boolean;
  /** Of the disk; past it what nothing uses is removed. Only when asked, unless given. */
  gcWatermarkPercent?: number;
  /** Search providers, in their order; none unless given. */
  search?: readonly string[];
  /** Whose sandboxes pages are opened in; that of the catalogue unless given. */
  browserImage?: string;
  clock: Clock;
  /** Fills a new sandbox from a snapshot; from the storage here unless given. */
  restore?: Restore;
  /** An empty one with a key of its own unless given. */
  vault?: VaultOptions;
  /** Called with each event before its readers get it. */
  onEvent?: JournalParts["onEvent"];
  onError: (error: unknown) => void;
}

export interface PackageSettings {
  registries: Registries;
  /** Those of `packages`, where they are looked for when something is first installed. */
  findRegistries?: () => Promise<Registries>;
  /** Whether only packages with their version, or lockfiles, are installed. */
  mustPin: boolean;
  /** Hosts that packages come from, as entries of a map. */
  knownHosts?: readonly (readonly [string, PackageManager | "apt"])[];
  /** Where packages of images come from; none are made unless given. */
  apt?: AptSources;
  /** Of images, on this machine and its networks, that may be asked. */
  imageRegistries?: readonly string[];
  /** Registries, or repositories of them, whose images sandboxes pull by asking for them; none unless given. */
  pulls?: readonly string[];
  /** Specifications that come with the program. */
  catalogue?: readonly CatalogueEntry[];
  /** Builds an image when a sandbox first asks for it. Default: false. */
  makesCatalogue?: boolean;
  /** Of what is downloaded, for the next that asks; nothing unless given. */
  keepBytes?: number;
}

/** What a daemon keeps and knows, without its doors and its process. */
export interface Service extends AsyncDisposable {
  caisson: Caisson;
  journal: StoredJournal;
  store: Store;
  blobs: FileBlobs;
  storage: Storage;
  collection: GarbageCollection;
  approvals: ApprovalDesk;
  vault: StoredVault;
  policies: PolicyDesk;
  attempts: AttemptLog;
  create: CreateSandbox;
  fleet: SandboxFleet;
  ports: PortDesk;
  packages: Packages;
  images: Images;
  imageBuilds: ImageBuilds;
  oci: OciImages;
  templates: Templates;
  templateBuilds: TemplateBuilds;
  host: HostAccess;
  web: Web;
  validation: Validation;
}

export async function openService(parts: ServiceParts): Promise<Service> {
  await using opened = new AsyncDisposableStack();
  const { folder, clock, onError } = parts;
  const store = opened.use(await openStore({ path: storePath(folder), ...parts.opening, onError }));
  const { snapshots, skills, artifacts, secrets, audit } = store;
  const { onEvent } = parts;
  const journal = opened.use(await StoredJournal.open({ audit, batch: () => store.batch(), ...defined({ onEvent }) }));
  const settings = { ...parts.settings, limits: await withStorage(parts.settings.limits, folder) };
  // First of all: with another master key nothing of the last daemon's is touched.
  const vault = opened.use(await openVault({ folder, records: secrets, journal, clock, onError }, parts.vault));
  const redactors = async (namespace: string) => redactorsOf(await vault.values(namespace));
  const blobs = await FileBlobs.open(join(folder, "blobs"));
  const storage = openStorage({ blobs, snapshots, skills, artifacts, journal, clock, onError });
  opened.defer(() => storage.sweeper.settled());
  const restore: Restore = async (caller, sandbox, id) => void (await storage.snapshots.restore(caller, sandbox, id));
  const inForce = parts.policies;
  const policies = await PolicyDesk.open({
    policies: inForce,
    records: store.policies,
    journal,
    sandboxRules: parts.sandboxRules ?? egressLimits.sandboxRules.default,
    onError,
  });
  const attempts = await AttemptLog.open({
    records: store.attempts,
    journal,
    clock,
    namespaceOf: (id) => inForce.sandbox(id)?.namespace,
    onError,
  });
  const ready = await readyHost(parts.host, store.approvals);
  const approvals = await ApprovalDesk.open({
    records: store.approvals,
    journal,
    clock,
    settings: parts.approvals,
    effects: { egress: holdAnswers(policies, inForce), ...ready.effects },
    onError,
  });
  opened.use(approvals);
  const host = ready.open({ approvals, journal, redactors });
  const {
    registries = noRegistries,
    findRegistries = async () => registries,
    mustPin = false,
    knownHosts = [],
    keepBytes = 0,
    apt = noApt,
    catalogue = [],
    imageRegistries = [],
    pulls = [],
    makesCatalogue = false,
  } = parts.packages ?? {};
  const keepsFiles = keepBytes > 0;
  const collectors: Collector[] = [storage.collector];
  let downloads: FileDownloads | undefined;
  if (keepsFiles) {
    downloads = await FileDownloads.open(join(folder, "downloads"), { mostBytes: keepBytes, onError });
    collectors.push(downloadCollector(downloads, { mostBytes: keepBytes }));
  }
  const images = await Images.open({ records: store.images, catalogue, journal });
  const places = pulls.map(readPullPlace);
  const pullable = (image: string) => findPullable(image, places);
  const asked = new AskedImages({ images, pullable, makesCatalogue });
  const templates = await Templates.open({ records: store.templates, journal });
  const { sandboxes, runs: records } = store;
  const runs = opened.use(new RunBook({ journal, records, sandboxes, retention: parts.records, clock, onError }));
  const caisson = parts.openCaisson({
    policies: inForce,
    oversight: {
      log: attempts,
      secrets: vault,
      asking: (id) => {
        const found = inForce.sandbox(id);
        return found === undefined || found.alone ? undefined : { approvals, namespace: found.namespace };
      },
      packageHosts: new Map(knownHosts),
      keeper: runs,
      imageOf: (root) => images.ofLayer(root),
      ...defined({ downloads }),
    },
  });
  const fleet = opened.use(
    await SandboxFleet.open({
      maker: parts.maker ?? caisson,
      records: store.sandboxes,
      journal,
      clock,
      settings,
      approvals,
      runs,
      restore: parts.restore ?? restore,
      checkpoints: { folder: join(folder, "checkpoints"), records: store.checkpoints, seeds: join(folder, "seeds") },
      lendFiles: (caller, sandbox, use) => storage.snapshots.lend(caller, sandbox, use),
      secrets: vault,
      keep: (record, sandbox) => storage.artifacts.keep(record, sandbox),
      egress: policies,
      images: asked,
      templates,
      onError,
    }),
  );
  const layers = openLayerBuilder({ caisson, fleet, engine: settings.engine });
  const imageBuilds = opened.use(
    await ImageBuilds.open({
      images,
      folder: join(folder, "images"),
      layers,
      fleet,
      apt,
      registries,
      keepsFiles,
      needed: () => templates.layerIds(),
      journal,
      clock,
      onError,
    }),
  );
  const oci = await OciImages.open({
    folder: join(folder, "oci"),
    images: imageBuilds,
    way: caisson.registryWay(imageRegistries),
    lend: (caller, secret, registry) => vault.lend(caller, secret, registry),
    platform: platformOf(arch()),
    onError,
  });
  const firstUse = new FirstUse({
    ...{ images, asked, builds: imageBuilds, clock },
    pull: (caller, reference) => oci.pull(caller, { reference }),
  });
  const create: CreateSandbox = (caller, request) =>
    fleet.create(caller, request, (who, image) => firstUse.ensure(who, image));
  const packages = new Packages({
    fleet,
    registries: findRegistries,
    mustPin,
    keepsFiles,
    open: (id, hosts, how) => caisson.openRegistry(id, hosts, how),
    records: store.packages,
    journal,
    clock,
  });
  const templateBuilds = opened.use(
    new TemplateBuilds({
      templates,
      ...{ create, fleet, bench: fleet.bench, install: (...request) => packages.install(...request) },
      layers,
      journal,
      clock,
      onError,
    }),
  );
  const naming = {
    layers,
    // Every kind of record that names layers has its place here: a layer that none of them names is removed.
    named: [() => images.layerIds(), () => templates.layerIds()],
  };
  const named = { elsewhere: () => images.layerIds(), isSettled: isOld(clock) };
  const wanted = { needed: () => templates.layerIds(), usual: settings.image };
  collectors.push(
    imageCollector({ images, builds: imageBuilds, layers, ...wanted }),
    checkpointCollector(store.checkpoints),
  );
  const { leavesLayers = false } = parts;
  if (!leavesLayers) collectors.push(layerCollector({ ...naming, ...named }));
  const former = leavesLayers ? new Set<LayerId>() : await formerLayers(layers, onError);
  const sweepLayers = () => layerCollector({ ...naming, isSettled: ({ id }) => former.has(id) }).collect(0);
  const swept = fleet.swept
    .then(() => Promise.all([imageBuilds.sweep(), templateBuilds.sweep()]))
    .then(() => (leavesLayers ? undefined : sweepLayers()))
    .catch(onError);
  opened.defer(async () => void (await swept));
  const sweeping = setInterval(() => void imageBuilds.sweep().catch(onError), buildLimits.sweepEveryMs).unref();
  opened.defer(() => clearInterval(sweeping));
  const ports = opened.use(await PortDesk.open({ records: store.ports, journal, fleet, onError }));
  await policies.sweep();
  const expire = () => void storage.artifacts.expire().catch(onError);
  const expiring = setInterval(expire, keptArtifactLimits.expireEveryMs).unref();
  opened.defer(() => clearInterval(expiring));
  await vault.watch(({ namespace }) => fleet.refreshSecrets(namespace));
  recordInside({ events: caisson.events, namespaceOf: (id) => fleet.namespaceOf(id), journal, onError });
  opened.use(followSandboxes(journal, approvals, (id) => fleet.namespaceOf(id) !== undefined));
  const disk = () => diskRoom(folder);
  const collection = new GarbageCollection({ collectors, disk, journal, onError });
  opened.defer(() => collection.settled());
  const { gcWatermarkPercent: watermarkPercent = 100 } = parts;
  if (watermarkPercent < 100) opened.use(new Watermark({ collection, disk, watermarkPercent, clock, onError }));
  opened.use(forgetPackages(journal, store.packages, (id) => fleet.namespaceOf(id) !== undefined, onError));
  const web = new Web({
    fleet,
    errand: (id, errand) => caisson.errand(id, errand),
    providers: readProviders(parts.search ?? []),
    browser: {
      image: parts.browserImage ?? "browser",
      fleet,
      attempts: store.attempts,
      approvals,
      verdictOf: (id, destination) => decide(inForce.policyOf(id), destination).action,
    },
    clock,
  });
  const validation = opened.use(new CodeAndDataValidation());
  const kept = opened.move();
  return {
    caisson,
    journal,
    store,
    blobs,
    storage,
    collection,
    approvals,
    vault,
    policies,
    attempts,
    create,
    fleet,
    ports,
    packages,
    images,
    imageBuilds,
    oci,
    templates,
    templateBuilds,
    host,
    web,
    validation,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Default storage of a sandbox, from the size of the disk. Computed once: all pools have one size. */
async function withStorage(limits: FleetSettings["limits"], folder: string): Promise<FleetSettings["limits"]> {
  if (limits.storageBytes !== undefined) return limits;
  const { freeBytes } = await diskRoom(folder);
  return { ...limits, storageBytes: usualStorageBytes(freeBytes) };
}

/** What tools are doors to. */
export function toolPartsOf(
  { caisson, journal, store, storage, vault, ...service }: Service,
  policy: ContentPolicy = "none",
): ToolParts {
  return {
    create: service.create,
    fleet: service.fleet,
    snapshots: storage.snapshots,
    skills: storage.skills,
    packages: service.packages,
    images: service.images,
    templates: service.templates,
    web: service.web,
    approvals: service.approvals,
    policies: service.policies,
    host: service.host,
    audit: store.audit,
    journal,
    validation: service.validation,
    signer: () => caisson.signer(),
    ...{ counts: new ToolCounts(), background: caisson.background },
    callContent: { policy, redactors: async (namespace) => redactorsOf(await vault.values(namespace)) },
    strongestEngine: () => caisson.chooseEngine("auto"),
  };
}
