/** `caisson mcp` where no daemon runs: all of a service in this process, for one client, and gone with it. */
import type { Readable, Writable } from "node:stream";
import { openLocalHost } from "../compose/local-host.ts";
import { readPackages } from "../compose/packages.ts";
import { openService } from "../compose/service.ts";
import type { PackageSettings } from "../compose/service-parts.ts";
import { openStdioDoor } from "../compose/stdio-door.ts";
import { approvalOptions } from "../config/approval-options.ts";
import { caissonOptions } from "../config/caisson-options.ts";
import type { Configuration } from "../config/config.ts";
import type { Variables } from "../config/env.ts";
import { fleetOptions } from "../config/fleet-options.ts";
import { givenSecrets } from "../config/secrets.ts";
import { AppError } from "../core/errors.ts";
import type { FleetSettings } from "../core/fleet.ts";
import type { Registries } from "../core/package.ts";
import type { Caller } from "../core/principal.ts";
import { systemClock } from "../lib/clock.ts";
import { Once } from "../lib/once.ts";
import { noRegistries } from "../package-install/read-registries.ts";
import { lifetimeLimits } from "../sandboxes/fleet/lifetime-limits.ts";
import { poolLimits } from "../sandboxes/fleet/limits.ts";
import { readToolSets } from "../tools/tool-sets.ts";
import type { StdioStart } from "./stdio-start.ts";

export interface StdioOptions {
  /** Is this service's, and closed with it. */
  start: StdioStart;
  configuration: Configuration;
  variables: Variables;
  version: string;
  /** Sets of tools; those of the configuration unless given. */
  tools?: readonly string[];
  stdin: Readable;
  stdout: Writable;
  log: (text: string) => void;
}

/** The user who starts the program, with the rights of an operator and without a key. */
const caller: Caller = {
  principal: { id: "stdio", name: "stdio", namespace: "default", role: "operator" },
  requestId: "stdio",
};
const session = "stdio";

export async function openStdioService(options: StdioOptions): Promise<AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const { caisson, maker, oversee, policies, opening, ...own } = opened.use(options.start);
  const { configuration, variables, version, stdin, stdout, log } = options;
  const sets = readToolSets(options.tools ?? configuration.settings["mcp.tools"]);
  const onError = (error: unknown) => log(error instanceof AppError ? error.message : String(error));
  const folder = await own.folder;
  const service = opened.use(
    await openService({
      folder,
      opening,
      policies,
      records: caisson.retention,
      openCaisson: ({ oversight }) => {
        oversee(oversight);
        return caisson;
      },
      maker,
      leavesLayers: true,
      settings: fleetSettings(configuration),
      approvals: approvalOptions(configuration),
      sandboxRules: configuration.settings["network.max_rules"],
      search: configuration.settings["web.search"],
      packages: packageSettings(configuration, variables, log),
      host: await openLocalHost(configuration, log),
      vault: { writable: true, keys: null, variables: givenSecrets(variables).variables },
      clock: systemClock,
      onError,
    }),
  );
  opened.defer(() => service.fleet.checkpoints.removeAll());
  opened.use(openStdioDoor(service, { version, caller, session, sets, stdin, stdout, onError }));
  own.sweep().catch(onError);
  return opened.move();
}

/** One sandbox waits for the first call. None is stopped for being idle: what is ephemeral could not start again. */
function fleetSettings(configuration: Configuration): FleetSettings {
  const idleTimeoutMs = lifetimeLimits.idleTimeoutMs.max;
  const { limits } = caissonOptions(configuration); // those of the sandbox that was begun before
  return { ...fleetOptions(configuration), limits, poolSize: 1, poolQuietMs: poolLimits.quietAloneMs, idleTimeoutMs };
}

/** Settings of packages. Those about making images need a daemon. */
function packageSettings(
  configuration: Configuration,
  variables: Variables,
  log: StdioOptions["log"],
): PackageSettings {
  const found = new Once<Registries>();
  return {
    registries: noRegistries,
    findRegistries: () => found.get(async () => (await readPackages(configuration, variables, { log })).registries),
    mustPin: configuration.settings["packages.pinned"],
    imageRegistries: configuration.settings["images.registries"],
  };
}
