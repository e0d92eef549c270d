/** Wires `caisson up`: who starts what, as whom, from where. */
import { join } from "node:path";
import { geteuid } from "node:process";
import type { Duplex } from "node:stream";
import { readPackages } from "../compose/packages.ts";
import { caissonOptions } from "../config/caisson-options.ts";
import type { Configuration } from "../config/config.ts";
import { daemonOptions } from "../config/daemon-options.ts";
import type { Variables } from "../config/env.ts";
import { folderOptions } from "../config/folder-options.ts";
import { hostOptions } from "../config/host-options.ts";
import type { GivenSecrets } from "../config/secrets.ts";
import { AppError, messageOf } from "../core/errors.ts";
import { folderRoles } from "../core/folder.ts";
import { hostSocket } from "../core/host-access.ts";
import { matching, optional, shape } from "../core/shape.ts";
import { readRegistry } from "../egress/read-registry.ts";
import { engineLimits } from "../engines/limits.ts";
import { HelperClient } from "../engines/oci/helper-client.ts";
import { makeEngineFolders } from "../engines/oci/sandbox-folder.ts";
import { findProgram } from "../engines/runtime.ts";
import { runProcess, startSupervised } from "../engines/spawn.ts";
import { readPolicy } from "../host-access/decide.ts";
import { catalogueFolder, readCatalogue } from "../images/read-catalogue.ts";
import { readPullPlace } from "../registries/pull-places.ts";
import { makeFolders, writePrivate } from "../supervision/access.ts";
import { type AppParts, copyApp, removeOldCopies } from "../supervision/app-copy.ts";
import type { CertificatePaths } from "../supervision/certificate-files.ts";
import { type CertificateStatus, CertificateWatch } from "../supervision/certificate-watch.ts";
import { answerControl } from "../supervision/control.ts";
import { bindDaemonSockets, type DaemonSockets } from "../supervision/daemon-sockets.ts";
import { checkFolder } from "../supervision/folders.ts";
import { type HostAccount, hostAccount } from "../supervision/host-account.ts";
import { checkSocketRoom, type Layout, layoutOf, viewOfHome } from "../supervision/layout.ts";
import { checkOpenFolder } from "../supervision/open-folders.ts";
import { type ServiceUser, serviceUser } from "../supervision/service-user.ts";
import { SupervisedProcess } from "../supervision/supervised-process.ts";
import { Supervisor } from "../supervision/supervisor.ts";
import { readToolSets } from "../tools/tool-sets.ts";
import { secretLimits } from "../vault/limits.ts";
import { readProviders } from "../web/search/providers.ts";
import type { DaemonConfiguration, DaemonMessage, DaemonReady } from "./daemon.ts";
import type { EngineConfiguration } from "./engine.ts";
import type { HostConfiguration } from "./host-access.ts";

export interface UpOptions {
  configuration: Configuration;
  secrets: GivenSecrets;
  /** In which pip and npm may be configured. */
  variables: Variables;
  version: string;
  /** Folder of this program's bundles. */
  code: string;
  log: (name: string, text: string) => void;
}

/** As `caisson status` tells it. */
export interface UpStatus {
  pid: number;
  home: string;
  address: string;
  /** Origin of links that people see: `public_url`, or the address. */
  url: string;
  /** Certificate of HTTPS on the address; null: plain HTTP. */
  certificate: CertificateStatus | null;
  ready: boolean;
  restarts: number;
  engine: { pid: number; startedAt: string } | null;
  daemon: { pid: number; startedAt: string; uid: number } | null;
  /** There while access to the host is turned on. */
  host: { pid: number; startedAt: string; uid: number } | null;
}

export interface Up extends AsyncDisposable {
  address: string;
  /** The one-time link of a first start. */
  link: string | null;
  status(): UpStatus;
  /** Resolves when `caisson down` was called. */
  asked: Promise<void>;
}

export async function openUp({ configuration, secrets, variables, version, code, log }: UpOptions): Promise<Up> {
  const layout = layoutOf(configuration.home);
  checkSocketRoom(layout);
  const {
    "packages.pinned": mustPin,
    "packages.keep_mb": keepMb,
    "web.search": search,
    "images.registries": imageRegistries,
    "images.apt": apt,
    "images.pull": pulls,
    "images.on_first_use": makesCatalogue,
  } = configuration.settings;
  readToolSets(configuration.settings["mcp.tools"]);
  imageRegistries.forEach(readRegistry);
  pulls.forEach(readPullPlace);
  readProviders(search); // what is wrong with them is told here, and not in a log
  const found = await readPackages(configuration, variables, { apt, log: (text) => log("caisson", text) });
  const host = hostOptions(configuration);
  if (host !== undefined) {
    readPolicy(host.settings);
    for (const folder of host.settings.folders) await checkOpenFolder(folder, layout.home);
  }
  const { addresses, ...settings } = daemonOptions(configuration);
  const { listen, portsPort, address } = addresses;
  const { linkBase: url } = settings;
  const told = {
    ...settings,
    host: host?.settings ?? null,
    vault: await vaultOptions(configuration, secrets),
    packages: {
      ...{
        registries: found.registries,
        knownHosts: [...found.knownHosts],
        apt: found.apt,
        mustPin,
        keepBytes: keepMb * 1024 ** 2,
      },
      ...{ imageRegistries, pulls, makesCatalogue },
      catalogue: await readCatalogue(catalogueFolder(configuration.root), (error) => log("caisson", messageOf(error))),
    },
  };
  for (const role of folderRoles)
    for (const folder of folderOptions(configuration, role)) await checkFolder(folder, role, layout.home);
  await using opened = new AsyncDisposableStack();
  const certificate = opened.use(await openCertificate(addresses.certificate, (text) => log("caisson", text)));
  const isRoot = geteuid?.() === 0;
  const user = isRoot ? await findUser(log) : undefined;
  const account = host === undefined ? undefined : await hostAccount(host.runAs, user);
  await makeFolders(layout, user);
  await makeEngineFolders(layout.home);
  const bin = join(configuration.root, ".build/bin");
  opened.use(await takeLock(join(bin, "caisson-helper"), layout));
  const sockets = opened.use(bindDaemonSockets({ listen, portsPort, layout, log: (text) => log("caisson", text) }));
  const inPlace: AppParts = { code, bin, node: process.execPath };
  const parts = isRoot ? await copyApp(layout.app, inPlace) : inPlace;
  if (isRoot) await removeOldCopies(layout.app, layout.sandboxes, parts);

  let ready: DaemonReady | undefined;
  let hand: HostProcess | undefined;
  opened.defer(async () => hand?.service.stop());
  const supervisor = new Supervisor<DaemonReady>({
    startEngine: () => startEngine(layout, parts, { configuration, packageFolders: found.folders }, user, log),
    startDaemon: () => {
      if (account !== undefined && told.host !== null)
        hand = startHost(layout, parts, { policy: told.host, attended: told.approvals.attended }, account, log);
      const browsers = sockets.ports !== undefined;
      const pem = certificate?.pem ?? null;
      const configuration = { ...told, browsers, version, home: layout.home, certificate: pem };
      return startDaemon(layout, parts, configuration, user, log, { ...sockets, host: hand?.socket });
    },
    onReady: async (now) => {
      ready ??= now;
      await writePrivate(layout.adminKey, `${now.adminKey}\n`);
    },
    log,
  });
  certificate?.start((pem) => supervisor.tellDaemon({ certificate: pem } satisfies DaemonMessage));
  await supervisor.start();
  opened.defer(() => supervisor.stop());
  if (ready === undefined) throw new AppError("internal", "the daemon is not ready");
  const { setupPath } = ready;
  const status = (): UpStatus => ({
    pid: process.pid,
    home: layout.home,
    address,
    url,
    certificate: certificate?.status ?? null,
    ready: supervisor.ready,
    restarts: supervisor.restarts,
    engine: supervisor.engine ?? null,
    daemon: supervisor.daemon === undefined ? null : { ...supervisor.daemon, uid: user?.uid ?? geteuid?.() ?? 0 },
    host:
      hand?.service.pid === undefined
        ? null
        : { pid: hand.service.pid, startedAt: hand.service.startedAt.toISOString(), uid: account?.uid ?? 0 },
  });
  const asked = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const control = await answerControl(layout.controlSocket, async (question) => {
    if (question === "down") {
      asked.resolve();
      await gone.promise;
    }
    return status();
  });
  const kept = opened.move();
  return {
    address,
    link: setupPath === null ? null : `${url}${setupPath}`,
    status,
    asked: asked.promise,
    [Symbol.asyncDispose]: async () => {
      await kept.disposeAsync();
      gone.resolve();
      control.close();
    },
  };
}

async function openCertificate(paths: CertificatePaths | null, log: (text: string) => void) {
  return paths === null ? null : await CertificateWatch.open({ paths, log });
}

/** This program once more, in a session of its own, with its own variables, those of pip and npm, and no others. */
export function startAgain(args: readonly string[], variables: Readonly<Record<string, string | undefined>>) {
  const own = Object.entries(variables).filter(([name]) =>
    /^(CAISSON_|PIP_|npm_config_|HOME$|XDG_CONFIG_HOME$)/i.test(name),
  );
  const given = own.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  return startSupervised(process.execPath, args, Object.fromEntries(given));
}

async function vaultOptions(
  configuration: Configuration,
  secrets: GivenSecrets,
): Promise<DaemonConfiguration["vault"]> {
  const writable = configuration.settings.vault === "store";
  return { writable, keys: await vaultKeys(configuration, secrets), variables: secrets.variables };
}

/** The daemon may not start programs: who starts it does. */
async function vaultKeys({ settings }: Configuration, { vaultKeys }: GivenSecrets) {
  if (vaultKeys !== null) return { keys: vaultKeys, place: "CAISSON_VAULT_KEY" };
  const [program, ...args] = settings.vault_key_command;
  if (program === undefined) return null;
  if (!program.startsWith("/"))
    throw new AppError("invalid", `vault_key_command: '${program}' is not an absolute path`);
  const limits = { timeoutMs: secretLimits.keyCommandMs, outputBytes: secretLimits.keyFileBytes };
  const { code, output } = await runProcess(program, args, limits);
  if (code !== 0) throw new AppError("unavailable", `vault_key_command: ${program} exited with ${code}`);
  return { keys: output, place: "the output of vault_key_command" };
}

async function findUser(log: UpOptions["log"]): Promise<ServiceUser> {
  const user = await serviceUser(async (args) => {
    const program = await findProgram("useradd");
    if (program === undefined) return "this machine has no useradd";
    const done = await runProcess(program, args, { timeoutMs: engineLimits.killTimeoutMs, outputBytes: 4096 });
    return done.code === 0 ? undefined : `useradd: ${done.output.trim()}`;
  });
  if (user.unnamed !== undefined)
    log("caisson", `the daemon runs as uid ${user.uid}, without a name: ${user.unnamed}\n`);
  return user;
}

/** Held by a helper, and so for exactly as long as this process lives. */
async function takeLock(helperPath: string, { run, home }: Layout): Promise<HelperClient> {
  const helper = new HelperClient(helperPath, ["serve"], { onExit: () => undefined, onDeath: () => undefined });
  try {
    await helper.request("lock", [["folder", run]]);
    return helper;
  } catch (error) {
    await helper[Symbol.asyncDispose]();
    if (error instanceof AppError && error.details?.errno === "EAGAIN")
      throw new AppError("conflict", `a daemon is already running for ${home}`, {
        hint: "caisson status shows it; for a second daemon, set another CAISSON_HOME and CAISSON_PORT",
      });
    throw error;
  }
}

/** V8 lets a heap's young part grow to three times 16 MB before it looks for what can go; processes that stay are held to less. */
const smallHeap = "--max-semi-space-size=2";
/** The daemon collects when it is idle (supervision/idle-memory.ts). */
const collects = "--expose-gc";
/** V8's optimizing compiler takes 200 MB for the parsers that are WebAssembly (validation/), and they are done before it is. */
const plainWasm = "--liftoff-only";
const daemonFlags = [smallHeap, collects, plainWasm];

function startEngine(
  layout: Layout,
  { node, code, bin }: AppParts,
  { configuration, packageFolders }: { configuration: Configuration } & Pick<EngineConfiguration, "packageFolders">,
  user: ServiceUser | undefined,
  log: UpOptions["log"],
): SupervisedProcess<unknown> {
  const told: EngineConfiguration = {
    home: layout.home,
    bin,
    runtimePaths: caissonOptions(configuration).runtimePaths,
    folders: { input: folderOptions(configuration, "input"), output: folderOptions(configuration, "output") },
    packageFolders,
    ...(user === undefined ? {} : { owner: { uid: user.uid, gid: user.gid } }),
  };
  const process = startSupervised(node, [smallHeap, join(code, "engine.mjs")]);
  return new SupervisedProcess({ name: "engine", process, configuration: told, parseReady: (value) => value, log });
}

function startDaemon(
  layout: Layout,
  { node, code, bin }: AppParts,
  configuration: DaemonConfiguration,
  user: ServiceUser | undefined,
  log: UpOptions["log"],
  { api, local, ports, host }: Omit<DaemonSockets, keyof Disposable> & { host: Duplex | undefined },
): SupervisedProcess<DaemonReady> {
  const descriptors = [api, local, ports ?? "ignore", host ?? "ignore"] as const; // in the order of daemonDescriptors
  if (user === undefined) {
    const process = startSupervised(node, [...daemonFlags, join(code, "daemon.mjs")], {}, descriptors);
    host?.destroy(); // the daemon's alone from now on: its end must be heard
    return new SupervisedProcess({ name: "daemon", process, configuration, parseReady, log });
  }
  const seen = seenFrom(layout);
  const ids = [String(user.uid), String(user.gid)];
  const words = ["become", ...ids, layout.home, seen(node), ...daemonFlags, seen(join(code, "daemon.mjs"))];
  const process = startSupervised(join(bin, "caisson-helper"), words, {}, descriptors);
  host?.destroy();
  const told = { ...configuration, home: viewOfHome };
  return new SupervisedProcess({ name: "daemon", process, configuration: told, parseReady, log });
}

interface HostProcess {
  service: SupervisedProcess<unknown>;
  /** The daemon's end of the way between the two. */
  socket: Duplex;
}

/** It leaves when the daemon does: each daemon has one of its own. */
function startHost(
  layout: Layout,
  { node, code, bin }: AppParts,
  configuration: HostConfiguration,
  { uid, gid, groups, isDaemons }: HostAccount,
  log: UpOptions["log"],
): HostProcess {
  const isRoot = geteuid?.() === 0;
  const seen = seenFrom(layout);
  const ids = [String(uid), String(gid), groups.join(","), isDaemons ? "apart" : "among"];
  const words = ["become-host", ...ids, layout.home, seen(node), smallHeap, seen(join(code, "host.mjs"))];
  const process = isRoot
    ? startSupervised(join(bin, "caisson-helper"), words, {}, ["pipe"])
    : startSupervised(node, [smallHeap, join(code, "host.mjs")], {}, ["pipe"]);
  const service = new SupervisedProcess({ name: "host", process, configuration, parseReady: (value) => value, log });
  return { service, socket: process.stdio[hostSocket] as Duplex };
}

const seenFrom = (layout: Layout) => (path: string) => path.replace(layout.home, viewOfHome);

const check = shape<DaemonReady>({
  adminKey: matching(/^[\w-]{16,256}$/),
  setupPath: (value, name) =>
    value === null ? null : (optional(matching(/^\/setup\?token=[\w-]{8,256}$/))(value, name) ?? null),
});

function parseReady(value: unknown): DaemonReady {
  return check(value, "ready");
}
