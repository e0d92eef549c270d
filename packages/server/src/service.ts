import { join } from "node:path";
import type { Caisson } from "./app.ts";
import { ApprovalDesk } from "./approvals/desk.ts";
import { followSandboxes } from "./approvals/follow-sandboxes.ts";
import type { ApprovalSettings } from "./core/approval.ts";
import type { Clock } from "./core/clock.ts";
import { egressLimits } from "./core/egress-limits.ts";
import type { FleetSettings } from "./core/fleet.ts";
import type { HostAccess } from "./core/host.ts";
import type { Registries } from "./core/package.ts";
import { keptArtifactLimits } from "./core/snapshot-limits.ts";
import type { Store } from "./core/store.ts";
import { redactorsOf } from "./dlp/redactors.ts";
import { AttemptLog } from "./egress/attempt-log.ts";
import { HttpDialer } from "./egress/dialer.ts";
import { holdAnswers } from "./egress/hold-answer.ts";
import { PolicyDesk } from "./egress/policy-desk.ts";
import type { EventFeed } from "./events/event-feed.ts";
import { tellFeed } from "./events/tell-feed.ts";
import { WebhookSender } from "./events/webhook-sender.ts";
import { type OpenedHost, readyHost } from "./host-access/open-host.ts";
import { approvalRoutes } from "./http/approvals.ts";
import { egressRoutes } from "./http/egress.ts";
import { egressLogRoutes } from "./http/egress-log.ts";
import { createHttpApp, type HttpApp, type HttpParts } from "./http/http-app.ts";
import { keptArtifactRoutes } from "./http/kept-artifacts.ts";
import { mcpRoutes } from "./http/mcp.ts";
import { packageRoutes } from "./http/packages.ts";
import { PortServer } from "./http/port-server.ts";
import { portRoutes } from "./http/ports.ts";
import { report } from "./http/problem.ts";
import { secretRoutes } from "./http/secrets.ts";
import { skillRoutes } from "./http/skills.ts";
import { snapshotRoutes } from "./http/snapshots.ts";
import { toolRoutes } from "./http/tools.ts";
import { webhookRoutes } from "./http/webhooks.ts";
import { Keyring } from "./identity/keyring.ts";
import { PortPasses } from "./identity/port-passes.ts";
import { callerOf } from "./mcp/caller.ts";
import { Changes } from "./mcp/changes.ts";
import { McpEndpoint } from "./mcp/endpoint.ts";
import { productOffers } from "./mcp/offers.ts";
import { openMcp } from "./mcp/open-mcp.ts";
import { forgetPackages } from "./packages/forget-packages.ts";
import { Packages } from "./packages/packages.ts";
import { noRegistries } from "./packages/read-registries.ts";
import type { Restore } from "./sandboxes/fleet/creation.ts";
import { SandboxFleet } from "./sandboxes/fleet/fleet.ts";
import { openStorage, type Storage } from "./sandboxes/open-storage.ts";
import { PortDesk } from "./sandboxes/port-desk.ts";
import { FileBlobs } from "./store/blobs.ts";
import { openStore } from "./store/open-store.ts";
import { endSession } from "./tools/session.ts";
import type { ToolParts } from "./tools/tool-parts.ts";
import { toolsOf } from "./tools/tools.ts";
import { openVault, type VaultOptions } from "./vault/open-vault.ts";
import type { StoredVault } from "./vault/vault.ts";
import { readProviders } from "./web/search/providers.ts";
import { Web } from "./web/web.ts";

interface ServiceParts {
  /** Where database and blobs lie. */
  folder: string;
  /** Stays its owner's, as the feed does. */
  caisson: Caisson;
  feed: EventFeed;
  settings: FleetSettings;
  approvals: ApprovalSettings;
  /** That a sandbox may have of its own. */
  sandboxRules?: number;
  /** Where packages come from; nothing is installed unless given. */
  packages?: PackageSettings;
  /** The machine around it; closed unless given. */
  host?: OpenedHost | undefined;
  /** Search providers, in their order; none unless given. */
  search?: readonly string[];
  clock: Clock;
  /** Fills a new sandbox from a snapshot; from the storage here unless given. */
  restore?: Restore;
  /** An empty one with a key of its own unless given. */
  vault?: VaultOptions;
  onError: (error: unknown) => void;
}

export interface PackageSettings {
  registries: Registries;
  /** Whether only packages with their version, or lockfiles, are installed. */
  mustPin: boolean;
}

/** What a daemon keeps and knows, without its doors and its process. */
export interface Service extends AsyncDisposable {
  caisson: Caisson;
  feed: EventFeed;
  store: Store;
  blobs: FileBlobs;
  storage: Storage;
  approvals: ApprovalDesk;
  vault: StoredVault;
  policies: PolicyDesk;
  attempts: AttemptLog;
  fleet: SandboxFleet;
  ports: PortDesk;
  packages: Packages;
  host: HostAccess;
  web: Web;
}

export async function openService(parts: ServiceParts): Promise<Service> {
  await using opened = new AsyncDisposableStack();
  const { folder, caisson, feed, settings, clock, onError } = parts;
  const store = opened.use(await openStore({ path: join(folder, "caisson.db"), onError }));
  const { snapshots, skills, artifacts, secrets, audit } = store;
  // First of all: with another master key nothing of the last daemon's is touched.
  const vault = opened.use(await openVault({ folder, records: secrets, audit, feed, clock, onError }, parts.vault));
  const blobs = await FileBlobs.open(join(folder, "blobs"));
  const storage = openStorage({ blobs, snapshots, skills, artifacts, audit, feed, clock, onError });
  opened.defer(() => storage.sweeper.settled());
  const restore: Restore = async (caller, sandbox, id) => void (await storage.snapshots.restore(caller, sandbox, id));
  const inForce = await caisson.policies();
  const policies = await PolicyDesk.open({
    policies: inForce,
    records: store.policies,
    audit,
    feed,
    sandboxRules: parts.sandboxRules ?? egressLimits.sandboxRules.default,
    onError,
  });
  const attempts = await AttemptLog.open({
    records: store.attempts,
    audit,
    feed,
    clock,
    namespaceOf: (id) => inForce.sandbox(id)?.namespace,
    onError,
  });
  const ready = await readyHost(parts.host, store.approvals);
  const approvals = await ApprovalDesk.open({
    records: store.approvals,
    audit,
    feed,
    clock,
    settings: parts.approvals,
    effects: { egress: holdAnswers(policies, inForce), ...ready.effects },
    onError,
  });
  opened.use(approvals);
  const redactors = async (namespace: string) => redactorsOf(await vault.values(namespace));
  const host = ready.open({ approvals, audit, redactors });
  caisson.guard({
    log: attempts,
    secrets: vault,
    asking: (id) => {
      const namespace = inForce.sandbox(id)?.namespace;
      return namespace === undefined ? undefined : { approvals, namespace };
    },
  });
  const fleet = await SandboxFleet.open({
    maker: caisson,
    records: store.sandboxes,
    audit,
    feed,
    clock,
    settings,
    approvals,
    restore: parts.restore ?? restore,
    secrets: vault,
    keep: (record, sandbox) => storage.artifacts.keep(record, sandbox),
    egress: policies,
    onError,
  });
  opened.use(fleet);
  const ports = opened.use(await PortDesk.open({ records: store.ports, audit, feed, fleet, onError }));
  await policies.sweep();
  const expire = () => void storage.artifacts.expire().catch(onError);
  const expiring = setInterval(expire, keptArtifactLimits.expireEveryMs).unref();
  opened.defer(() => clearInterval(expiring));
  await vault.watch(({ namespace }) => fleet.refreshSecrets(namespace));
  tellFeed(caisson.events, (id) => fleet.namespaceOf(id), feed);
  opened.use(followSandboxes(feed, approvals, (id) => fleet.namespaceOf(id) !== undefined));
  const { registries = noRegistries, mustPin = false } = parts.packages ?? {};
  const packages = new Packages({
    fleet,
    registries,
    mustPin,
    open: (id, hosts) => caisson.openRegistry(id, hosts),
    records: store.packages,
    audit,
    feed,
    clock,
  });
  opened.use(forgetPackages(feed, store.packages, (id) => fleet.namespaceOf(id) !== undefined, onError));
  const web = new Web({
    fleet,
    errand: (id, errand) => caisson.errand(id, errand),
    providers: readProviders(parts.search ?? []),
    clock,
  });
  const kept = opened.move();
  return {
    caisson,
    feed,
    store,
    blobs,
    storage,
    approvals,
    vault,
    policies,
    attempts,
    fleet,
    ports,
    packages,
    host,
    web,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** What the service does not know of its doors; and what it knows, where that is to be something else. */
type DoorParts = Required<Pick<HttpParts, Told>> &
  Omit<Partial<HttpParts>, Told> & {
    webhooks: { mayBePrivate: boolean; waitsMs?: readonly number[] };
    /** The sets of tools that MCP clients have who name none. */
    mcpTools?: readonly string[];
  };

type Told = "settings" | "ready" | "version" | "onError";

interface Doors extends AsyncDisposable {
  http: HttpApp;
  /** For browsers; it listens nowhere by itself. */
  ports: PortServer;
  keyring: Keyring;
}

/** Every name below it is this machine, to browsers (RFC 6761). */
const portDomain = "localhost";

/** REST, not listening yet, and webhooks. Closing them ends every connection. */
export async function openDoors(
  service: Service,
  { webhooks, mcpTools = ["core"], ...parts }: DoorParts,
): Promise<Doors> {
  const { caisson, feed, store, storage, approvals, vault, fleet, ports: desk } = service;
  const { mayBePrivate, ...waits } = webhooks;
  const sender = await WebhookSender.open({
    feed,
    webhooks: store.webhooks,
    dialer: new HttpDialer({ allowPrivate: mayBePrivate }),
    ...waits,
    onError: parts.onError,
  });
  const keyring = new Keyring({ keys: store.keys });
  const passes = new PortPasses();
  const ports = new PortServer({
    fleet,
    desk,
    passes,
    keyring,
    audit: store.audit,
    domain: portDomain,
    onError: parts.onError,
  });
  const toolParts: ToolParts = {
    fleet,
    snapshots: storage.snapshots,
    packages: service.packages,
    web: service.web,
    approvals,
    policies: service.policies,
    host: service.host,
    audit: store.audit,
    feed,
    runs: (id) => caisson.runs(id),
    signer: () => caisson.signer(),
  };
  const mcp = openMcp(
    { toolsOf, parts: toolParts, version: parts.version, report: (error) => report(error, parts.onError) },
    { caller: callerOf },
  );
  const endpoint = new McpEndpoint({
    version: parts.version,
    offers: productOffers(mcp),
    verify: mcp.calls.verify,
    changes: new Changes(),
    sets: mcpTools,
    endSession: (caller, key) => endSession(fleet, caller, key),
    onError: parts.onError,
  });
  const http = createHttpApp({
    fleet,
    keyring,
    audit: store.audit,
    feed,
    idempotency: store.idempotency,
    runs: (id) => caisson.runs(id),
    signer: () => caisson.signer(),
    routes: [
      ...snapshotRoutes(fleet, storage.snapshots),
      ...skillRoutes(fleet, storage.skills),
      ...keptArtifactRoutes(storage.artifacts),
      ...packageRoutes(service.packages),
      ...secretRoutes({ vault, fleet, keyring }),
      ...webhookRoutes(store.webhooks, sender),
      ...approvalRoutes(approvals, fleet),
      ...portRoutes({ fleet, desk, passes, urlOf: (id, port) => ports.urlOf(id, port) }),
      ...egressRoutes(service.policies),
      ...egressLogRoutes(store.attempts),
      ...toolRoutes(toolParts),
      ...mcpRoutes(endpoint),
    ],
    ...parts,
  });
  return {
    http,
    ports,
    keyring,
    [Symbol.asyncDispose]: async () => {
      await endpoint[Symbol.asyncDispose]();
      await mcp[Symbol.asyncDispose]();
      await ports.close();
      http.app.server.closeAllConnections();
      await http.app.close();
      await sender[Symbol.asyncDispose]();
    },
  };
}
