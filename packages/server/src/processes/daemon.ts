/** The daemon's process: parses what strangers send, and has no right beyond its own folder and the engine's verbs (S23). */
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import type { Server as TlsServer } from "node:tls";
import { Caisson } from "../app.ts";
import { AuditRetention } from "../audit-export/retention.ts";
import { openDoors } from "../compose/doors.ts";
import { openService, type Service } from "../compose/service.ts";
import type { PackageSettings } from "../compose/service-parts.ts";
import type { ConfiguredOptions } from "../config/caisson-options.ts";
import type { ApprovalSettings } from "../core/approval.ts";
import type { ContentPolicy } from "../core/audit.ts";
import type { CertificatePem } from "../core/certificate.ts";
import type { FleetSettings } from "../core/fleet.ts";
import type { HostSettings } from "../core/host-access.ts";
import { openPolicies } from "../egress/open-policies.ts";
import { EngineClient } from "../engines/client.ts";
import { HandClient } from "../host-access/hand-client.ts";
import type { ShownSetting } from "../http/daemon.ts";
import type { HttpApp } from "../http/http-app.ts";
import { httpLimits } from "../http/limits.ts";
import { allReady } from "../http/readiness.ts";
import { openTlsServer, replaceCertificate } from "../http/tls-server.ts";
import { ensureAdmin } from "../identity/first-admin.ts";
import { systemClock } from "../lib/clock.ts";
import { storePath } from "../store/store-path.ts";
import { daemonDescriptors } from "../supervision/daemon-sockets.ts";
import { IdleMemory, loopBusy } from "../supervision/idle-memory.ts";
import { layoutOf } from "../supervision/layout.ts";
import { supervisionLimits } from "../supervision/limits.ts";
import { logError, type Serving, serve } from "../supervision/serve.ts";
import type { VaultOptions } from "../vault/open-vault.ts";

export interface DaemonConfiguration {
  /** The data folder as this process sees it. */
  home: string;
  version: string;
  /** There is a socket for browsers. */
  browsers: boolean;
  hosts: readonly string[];
  origins: readonly string[];
  publicUrl: string | null;
  /** Start of links that are shown to people and clients. */
  linkBase: string;
  trustedProxies: readonly string[];
  /** Certificate of the address; null: plain HTTP. Never shown: it holds the private key. */
  certificate: CertificatePem | null;
  webhooksMayBePrivate: boolean;
  auditDays: number;
  audit: { content: ContentPolicy; contentDays: number; namespaceBytes: number };
  /** The database's name in its folder. */
  storeName: string;
  /** Never shown: it may hold a master key, and secrets of the environment. */
  vault: VaultOptions;
  settings: readonly ShownSetting[];
  caisson: Omit<ConfiguredOptions, "home" | "root" | "runtimePaths">;
  fleet: FleetSettings;
  approvals: ApprovalSettings;
  /** Maximum rules of one sandbox. */
  sandboxRules: number;
  packages: PackageSettings;
  /** Disk usage (percent) that triggers garbage collection. */
  gcWatermarkPercent: number;
  /** Search providers, in their order. */
  search: readonly string[];
  /** The sets of tools of MCP clients that name none. */
  mcpTools: readonly string[];
  /** Access to the host; null: closed. */
  host: HostSettings | null;
}

/** Message of the supervisor to the daemon while it runs. */
export interface DaemonMessage {
  certificate: CertificatePem;
}

/** Answer to the supervisor once the daemon is ready. */
export interface DaemonReady {
  /** Key of the local administrator. */
  adminKey: string;
  /** The path of the one-time link, on a first start. */
  setupPath: string | null;
}

async function start(configuration: DaemonConfiguration): Promise<Serving> {
  await using opened = new AsyncDisposableStack();
  const { home, version, hosts, origins, publicUrl, trustedProxies } = configuration;
  const onError = logError;
  const { daemon, engineSocket, sandboxes } = layoutOf(home);
  const engines = opened.use(await EngineClient.connect({ path: engineSocket, sandboxes, onError }));
  const hand = configuration.host === null ? undefined : opened.use(await HandClient.open(daemonDescriptors.host));
  const host = configuration.host === null || hand === undefined ? undefined : { settings: configuration.host, hand };
  const { approvals, vault, sandboxRules, packages, search, gcWatermarkPercent } = configuration;
  const { network, records } = configuration.caisson;
  const { content: auditContent, contentDays, namespaceBytes: auditBytes } = configuration.audit;
  const options = { ...configuration.caisson, home: daemon, root: "", engines, onError };
  const service = opened.use(
    await openService({
      ...{ approvals, vault, sandboxRules, packages, search, gcWatermarkPercent, host, records, auditBytes },
      folder: daemon,
      opening: { path: storePath(daemon, configuration.storeName) },
      policies: await openPolicies(network),
      openCaisson: (given) => opened.use(new Caisson({ ...options, ...given })),
      settings: configuration.fleet,
      clock: systemClock,
      onError,
    }),
  );
  const { store, fleet } = service;
  const collect = () => globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
  opened.use(new IdleMemory({ collect, busy: loopBusy(), unusedMs: () => fleet.uses.idleMs }));
  const days = configuration.auditDays;
  opened.use(new AuditRetention({ audit: store.audit, days, contentDays, clock: systemClock, onError }));
  const parts = { engine: () => engines.request("searchPath", {}), store: () => store.checkWritable() };
  const doors = await openDoors(service, {
    webhooks: { mayBePrivate: configuration.webhooksMayBePrivate },
    settings: () => [...configuration.settings],
    ready: allReady(parts, onError),
    version,
    hosts,
    origins,
    publicUrl,
    linkBase: () => configuration.linkBase,
    trustedProxies,
    mcpTools: configuration.mcpTools,
    auditContent,
    onError,
  });
  const { http, keyring } = opened.use(doors);
  const keyFile = join(daemon, "admin-key");
  const { isFirst } = await ensureAdmin(keyring, keyFile);
  const { address, take } = await listen(http, configuration.certificate);
  if (configuration.browsers) await listenOn(doors.ports.server, daemonDescriptors.ports);
  opened.defer(() => {
    address.close();
    return drain(http, service);
  });
  const kept = opened.move();
  const told: DaemonReady = {
    adminKey: (await readFile(keyFile, "utf8")).trim(),
    setupPath: isFirst ? http.issueSetupLink() : null,
  };
  return {
    ready: told,
    take,
    lost: hand === undefined ? engines.lost : Promise.race([engines.lost, hand.lost]),
    close: () => kept.disposeAsync(),
  };
}

/** Takes no new connection and lets what is under way end; streams that never would are closed with the doors. */
async function drain({ app }: HttpApp, { fleet, approvals, serverPool }: Service): Promise<void> {
  app.server.close();
  await approvals[Symbol.asyncDispose]();
  await serverPool[Symbol.asyncDispose]();
  await fleet.drain(supervisionLimits.drainMs);
}

interface Listening {
  /** TLS listener of the address; the HTTP server itself listens for clients on this machine. */
  address: Server;
  take: (message: unknown) => void;
}

/** Answers on the sockets that the supervisor has bound. One HTTP server has all their connections, and so the same checks and limits. */
async function listen({ app }: HttpApp, certificate: CertificatePem | null): Promise<Listening> {
  await app.ready();
  await listenOn(app.server, daemonDescriptors.local);
  if (certificate === null) {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      app.server.emit("connection", socket),
    );
    server.maxConnections = httpLimits.connections;
    await listenOn(server, daemonDescriptors.api);
    return { address: server, take: () => undefined };
  }
  const server = openTlsServer(certificate, app.server);
  await listenOn(server, daemonDescriptors.api);
  return { address: server, take: (message) => takeCertificate(server, message as DaemonMessage) };
}

/** The supervisor has checked it. */
function takeCertificate(server: TlsServer, { certificate }: DaemonMessage): void {
  try {
    replaceCertificate(server, certificate);
  } catch (error) {
    logError(error);
  }
}

async function listenOn(server: Server, fd: number): Promise<void> {
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen({ fd }, resolve));
  server.on("error", logError); // a connection that could not be accepted is no reason to end
}

await serve(start);
