/** `caisson mcp` where no daemon runs: all of a service in this process, for one client, and gone with it. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { openCaisson } from "./app.ts";
import { approvalOptions } from "./config/approval-options.ts";
import { caissonOptions } from "./config/caisson-options.ts";
import type { Configuration } from "./config/config.ts";
import type { Variables } from "./config/env.ts";
import { fleetOptions } from "./config/fleet-options.ts";
import { givenSecrets } from "./config/secrets.ts";
import { systemClock } from "./core/clock.ts";
import { AppError, messageOf } from "./core/errors.ts";
import type { FleetSettings } from "./core/fleet.ts";
import { fleetLimits } from "./core/fleet-limits.ts";
import type { Caller } from "./core/principal.ts";
import { checkAllowRule } from "./egress/check-rule.ts";
import { readRules } from "./egress/open-policies.ts";
import { HelperClient } from "./engines/oci/helper-client.ts";
import { EventFeed } from "./events/event-feed.ts";
import { makeHome } from "./host/access.ts";
import { checkFolder } from "./host/folders.ts";
import { claimFolder, type FolderLocks, sweepFolders } from "./host/owned-folders.ts";
import { report } from "./http/problem.ts";
import { catalogueFolder, readCatalogue } from "./images/read-catalogue.ts";
import { openLocalHost } from "./local-host.ts";
import { Changes } from "./mcp/changes.ts";
import { productOffers } from "./mcp/offers.ts";
import { openMcp } from "./mcp/open-mcp.ts";
import { serveClient } from "./mcp/serve-client.ts";
import { Traces } from "./mcp/traces.ts";
import { findPackages } from "./packages/find-packages.ts";
import { hostFiles } from "./packages/host-files.ts";
import { openService, type PackageSettings, toolPartsOf } from "./service.ts";
import { readToolSets } from "./tools/tool-sets.ts";
import { toolsOf } from "./tools/tools.ts";

export interface StdioOptions {
  configuration: Configuration;
  variables: Variables;
  version: string;
  /** Sets of tools; those of the configuration unless given. */
  tools?: readonly string[];
  stdin: Readable;
  stdout: Writable;
  log: (text: string) => void;
}

/** Whoever starts the program decides for it, as an operator does, and has no key. */
const caller: Caller = {
  principal: { id: "stdio", name: "stdio", namespace: "default", role: "operator" },
  requestId: "stdio",
};
const session = "stdio";

export async function openStdioService(options: StdioOptions): Promise<AsyncDisposable> {
  const { configuration, variables, version, stdin, stdout, log } = options;
  const sets = readToolSets(options.tools ?? configuration.settings["mcp.tools"]);
  const onError = (error: unknown) => log(error instanceof AppError ? error.message : String(error));
  await using opened = new AsyncDisposableStack();
  const { home, root } = configuration;
  await makeHome(home);
  const parent = join(home, "stdio");
  const locks = folderLocks(opened, join(root, ".build/bin/caisson-helper"));
  const [folder, packages] = await Promise.all([
    claimFolder(parent, locks),
    findRegistries(configuration, variables, log),
  ]);
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const feed = opened.use(new EventFeed());
  const caisson = opened.use(openCaisson({ ...caissonOptions(configuration), onError }));
  const service = opened.use(
    await openService({
      folder,
      caisson,
      maker: ephemeral(caisson),
      feed,
      settings: fleetSettings(configuration),
      approvals: approvalOptions(configuration),
      sandboxRules: configuration.settings["network.max_rules"],
      search: configuration.settings["web.search"],
      packages,
      host: await openLocalHost(configuration, log),
      vault: { writable: true, keys: null, variables: givenSecrets(variables).variables },
      clock: systemClock,
      onError,
    }),
  );
  const shown = { version, report: (error: unknown) => report(error, onError) };
  const changes = new Changes();
  const traces = opened.use(new Traces(service.feed));
  const own = { toolsOf, parts: toolPartsOf(service), traces, ...shown };
  const mcp = opened.use(openMcp(own, { caller: () => caller }, changes));
  const { follow, calls } = mcp;
  const server = { version, offers: productOffers(mcp), verify: calls.verify, changes, follow };
  opened.use(serveClient(server, { caller, session, sets, stdin, stdout, onError }));
  sweepFolders(parent, folder, locks).catch(onError);
  return opened.move();
}

function folderLocks(opened: AsyncDisposableStack, helperPath: string): FolderLocks {
  const helper = opened.use(
    new HelperClient(helperPath, ["serve"], { onExit: () => undefined, onDeath: () => undefined }),
  );
  return {
    claim: async (folder) => void (await helper.request("claim", [["folder", folder]])),
    take: async (folder) => {
      try {
        await helper.request("lock", [["folder", folder]]);
        return true;
      } catch (error) {
        if (error instanceof AppError && error.details?.errno !== undefined) return false;
        throw error;
      }
    },
  };
}

/** Its sandboxes end with it, however it ends; and those of a daemon of the same data folder are none of its own. */
function ephemeral(caisson: ReturnType<typeof openCaisson>) {
  return {
    chooseEngine: caisson.chooseEngine.bind(caisson),
    createSandbox: (options: object) => caisson.createSandbox({ ...options, keep: false }),
    attachSandbox: caisson.attachSandbox.bind(caisson),
    copies: caisson.copies,
    startSandbox: caisson.startSandbox.bind(caisson),
    stopSandbox: caisson.stopSandbox.bind(caisson),
    resetSandbox: caisson.resetSandbox.bind(caisson),
    destroySandbox: caisson.destroySandbox.bind(caisson),
    keptSandboxes: async () => [],
  };
}

/** One sandbox waits for the first call. None is stopped for being idle: what is ephemeral could not start again. */
function fleetSettings(configuration: Configuration): FleetSettings {
  const idleTimeoutMs = fleetLimits.idleTimeoutMs.max;
  return { ...fleetOptions(configuration), poolSize: 1, idleTimeoutMs };
}

async function findRegistries(
  { settings, home, root }: Configuration,
  variables: Variables,
  log: StdioOptions["log"],
): Promise<PackageSettings> {
  const hosts = settings["packages.hosts"];
  const { registries, apt } = await findPackages({
    host: hostFiles(variables, checkAllowRule),
    hosts: hosts.length === 0 ? [] : await readRules(hosts),
    checkFolder: (folder) => checkFolder(folder, "input", home),
    log,
  });
  const catalogue = await readCatalogue(catalogueFolder(root), (error) => log(messageOf(error)));
  return {
    ...{ registries, apt, catalogue, mustPin: settings["packages.pinned"] },
    imageRegistries: settings["images.registries"],
  };
}
