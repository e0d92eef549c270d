import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { openCaisson } from "../../packages/server/src/app.ts";
import { openDoors } from "../../packages/server/src/compose/doors.ts";
import type { OpenVersionBuilder } from "../../packages/server/src/compose/servers.ts";
import { openService, type Service } from "../../packages/server/src/compose/service.ts";
import type { PackageSettings } from "../../packages/server/src/compose/service-parts.ts";
import type { ApprovalSettings } from "../../packages/server/src/core/approval.ts";
import type { ContentPolicy } from "../../packages/server/src/core/audit.ts";
import type { CommandPolicy } from "../../packages/server/src/core/command-policy.ts";
import type { NetworkOptions } from "../../packages/server/src/core/egress-policies.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { FleetSettings } from "../../packages/server/src/core/fleet.ts";
import type { BackgroundPolicy } from "../../packages/server/src/core/process.ts";
import type { Role } from "../../packages/server/src/core/scope.ts";
import type { CallStats, HostedServers } from "../../packages/server/src/core/server.ts";
import type { ServerPool } from "../../packages/server/src/core/server-link.ts";
import type { World } from "../../packages/server/src/egress/connect.ts";
import { openPolicies } from "../../packages/server/src/egress/open-policies.ts";
import type { OpenedHost } from "../../packages/server/src/host-access/open-host.ts";
import type { HttpParts } from "../../packages/server/src/http/http-app.ts";
import type { PortServer } from "../../packages/server/src/http/port-server.ts";
import { allReady } from "../../packages/server/src/http/readiness.ts";
import type { Route } from "../../packages/server/src/http/route.ts";
import { Keyring } from "../../packages/server/src/identity/keyring.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { defined } from "../../packages/server/src/lib/defined.ts";
import { makeDataFolder, removeDataFolder } from "../data-folder.ts";
import { guestPath, root } from "../harness.ts";
import { EventChecks, silent } from "../journal.ts";
import { Api } from "./api.ts";
import { type Document, Judge } from "./document.ts";

const MiB = 1024 ** 2;

export interface TestServer extends Service {
  base: string;
  home: string;
  keyring: Keyring;
  /** For browsers; a test lets it listen. */
  browsers: PortServer;
  judge: Judge;
  routes: readonly Route[];
  setupLink(): string;
  callStats: (serverId: string) => CallStats;
  /** A client with a new key. */
  as(role: Role, namespace?: string, scopes?: readonly string[]): Promise<Api>;
  /** Without one. */
  anonymous: Api;
  /** Internal errors, apart from the errors that callers received. */
  errors: unknown[];
}

interface TestServerOptions extends Partial<HttpParts> {
  webhooksMayBePrivate?: boolean;
  runtimePaths?: Partial<Record<EngineName, string>>;
  /** Folder of its store. Default: below its data folder. */
  daemonFolder?: string;
  approvals?: Partial<ApprovalSettings>;
  commands?: Partial<CommandPolicy>;
  background?: BackgroundPolicy;
  maxConcurrent?: number;
  /** Size of each warm pool. */
  poolSize?: number;
  network?: NetworkOptions;
  /** Network outside its sandboxes. */
  world?: World;
  packages?: PackageSettings;
  host?: OpenedHost;
  /** Search providers. */
  search?: readonly string[];
  /** Image with the browser that opens pages. */
  browserImage?: string;
  /** Content of tool calls that the audit log keeps. */
  auditContent?: ContentPolicy;
  /** Puts something into the data folder before an engine opens it. */
  prepare?: (home: string) => Promise<unknown>;
  leavesLayers?: boolean;
  /** Builds code of hosted servers. */
  versionBuilder?: OpenVersionBuilder;
  /** In place of the service's own. */
  hosted?: { servers?: HostedServers; serverPool?: ServerPool };
  /** Maximum size of a namespace's part of the audit log. */
  auditBytes?: number;
}

/** The whole server but its process: real store, fleet and engines behind a listening socket. */
export async function openTestServer(
  engine: EngineName,
  {
    webhooksMayBePrivate = true,
    runtimePaths = {},
    daemonFolder,
    approvals: asked,
    commands,
    background,
    maxConcurrent = 8,
    poolSize = 0,
    network = {},
    world,
    packages,
    host,
    search = [],
    browserImage,
    auditBytes,
    hosted,
    prepare,
    leavesLayers,
    versionBuilder,
    ...options
  }: TestServerOptions = {},
): Promise<TestServer> {
  const home = await makeDataFolder("/var/tmp/caisson-test-");
  await prepare?.(home);
  const folder = daemonFolder ?? join(home, "daemon");
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const records = { keep: 100, days: 1, outputBytes: 1024 };
  const caissonOptions = { home, root, guestPath, runtimePaths, records, network, onError };
  const checks = new EventChecks();
  const settings: FleetSettings = {
    engine,
    image: "host",
    limits: { storageBytes: 64 * MiB },
    idleTimeoutMs: 1_800_000,
    lifetimeMs: 86_400_000,
    maxLifetimeMs: 86_400_000,
    maxConcurrent,
    poolSize,
    commands: { allow: [], deny: [], ask: [], ...commands },
    keepArtifactsMs: 0,
    startsAtOnce: 2,
    namespaceStoragePercent: 80,
  };
  const approvals: ApprovalSettings = { attended: true, timeoutMs: 60_000, holdMs: 30_000, ...asked };
  const service = await openService({
    ...{ folder, settings, approvals, search, records, clock: systemClock, onError },
    ...defined({ packages, browserImage, auditBytes, leavesLayers, versionBuilder }),
    policies: await openPolicies(network),
    openCaisson: (given) => openCaisson({ ...caissonOptions, ...given, ...defined({ background, world }) }),
    onEvent: checks.onEvent,
    host,
  });
  const { caisson } = service;
  let base = "";
  const doors = await openDoors(service, {
    webhooks: { mayBePrivate: webhooksMayBePrivate, waitsMs: [1, 1] },
    settings: () => [{ name: "engine", value: engine, origin: "options" }],
    ready: allReady({ store: () => service.store.checkWritable() }, () => undefined),
    version: "0.0.0",
    rate: { perSecond: 100_000, burst: 100_000 },
    linkBase: () => base,
    hosted: { servers: service.servers, serverPool: service.serverPool, ...hosted },
    onError,
    ...options,
  });
  const { http, keyring } = doors;
  // A test's keys are not what it is about.
  const testKeys = new Keyring({ keys: service.store.keys, journal: silent(service.journal) });
  const { app, routes, issueSetupLink } = http;
  await app.listen({ host: "127.0.0.1", port: 0 });
  base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const judge = new Judge((await (await fetch(`${base}/openapi.json`)).json()) as Document);
  return {
    ...service,
    base,
    home,
    keyring,
    browsers: doors.ports,
    judge,
    routes,
    callStats: doors.callStats,
    setupLink: issueSetupLink,
    errors,
    anonymous: new Api(base, judge, {}),
    as: async (role, namespace = "default", scopes) => {
      const { token } = await testKeys.issue({ name: role, namespace, role, ...defined({ scopes }) });
      return new Api(base, judge, { "x-api-key": token });
    },
    [Symbol.asyncDispose]: async () => {
      await doors[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      for (const { id } of await caisson.keptSandboxes()) await caisson.destroySandbox(id);
      await caisson[Symbol.asyncDispose]();
      await removeDataFolder(home);
      checks.checkAll();
    },
  };
}
