/** Hosted MCP servers. Their code is built in sandboxes, and runs in sandboxes, so they come after both. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ChosenImage } from "../core/image-record.ts";
import type { LayerBuilder } from "../core/layer-builder.ts";
import type { Caller } from "../core/principal.ts";
import { Deploys } from "../servers/deploys.ts";
import { RunningServers } from "../servers/pool.ts";
import { Servers } from "../servers/servers.ts";
import { toVersionBuilder, type VersionBuilder } from "../servers/version-builder.ts";
import type { StoredVault } from "../vault/vault.ts";
import type { Builds } from "./builds.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Egress } from "./egress.ts";
import type { Sandboxes } from "./sandboxes.ts";
import { openServerSandboxes } from "./server-sandboxes.ts";
import type { ServiceParts } from "./service-parts.ts";
import type { Stores } from "./store.ts";

export interface HostedParts {
  servers: Servers;
  serverPool: RunningServers;
}

/** Makes what builds versions, of what builds layers. */
export type OpenVersionBuilder = (layers: LayerBuilder) => VersionBuilder;

type Below = Pick<Stores, "journal" | "vault" | "storage"> &
  Pick<Egress, "policies"> &
  Pick<Catalogue, "requestable" | "serverBook"> &
  Pick<Sandboxes, "caisson" | "fleet"> &
  Pick<Builds, "layers" | "ensureImage" | "serverBuilder">;
type Parts = Pick<ServiceParts, "folder" | "versionBuilder" | "clock" | "onError">;

export async function openServers(
  opened: AsyncDisposableStack,
  { journal, vault, storage, policies, requestable, serverBook: book, caisson, fleet, ensureImage, ...below }: Below,
  { folder, versionBuilder, clock, onError }: Parts,
): Promise<HostedParts> {
  const uploads = join(folder, "uploads");
  await rm(uploads, { recursive: true, force: true }); // of deploys that the last daemon did not finish
  await mkdir(uploads, { recursive: true, mode: 0o700 });
  const sandboxes = openServerSandboxes({ fleet, snapshots: storage.snapshots, policies, caisson });
  const logs = join(folder, "server-logs");
  const serverPool = opened.use(await RunningServers.open({ book, sandboxes, journal, folder: logs, clock, onError }));
  const image = async (caller: Caller, name: string): Promise<ChosenImage> => {
    await ensureImage(caller, name);
    return requestable.choose(name);
  };
  const builder = openBuilder(below, versionBuilder);
  const deploys = opened.use(
    new Deploys({ ...{ book, running: serverPool, sandboxes, builder, image, clock, onError }, folder: uploads }),
  );
  const servers = new Servers({
    ...{ book, running: serverPool, deploys, sandboxes, journal, clock, onError },
    bindSecrets: (caller, serverId, names) => bindSecrets(vault, caller, serverId, names),
    checkNetwork: (caller, network) => void policies.check(caller, network),
  });
  return { servers, serverPool };
}

function openBuilder(
  { layers, serverBuilder }: Pick<Builds, "layers" | "serverBuilder">,
  open: OpenVersionBuilder = () => toVersionBuilder(serverBuilder),
): VersionBuilder {
  return open(layers);
}

/** As files, each by its own name. Bindings of other kinds are an operator's own. */
async function bindSecrets(
  vault: StoredVault,
  caller: Caller,
  serverId: string,
  names: readonly string[],
): Promise<void> {
  const all = await vault.list(caller);
  const missing = names.find((name) => !all.some((secret) => secret.name === name));
  if (missing !== undefined) await vault.get(caller, missing); // refused: there is no such secret
  for (const { name, bindings } of all) {
    const own = bindings.filter(({ target }) => "serverId" in target && target.serverId === serverId);
    const file = own.find(({ delivery }) => delivery.as === "file");
    if (names.includes(name) && file === undefined)
      await vault.bind(caller, name, { target: { serverId }, delivery: { as: "file" } });
    if (names.length === 0) for (const { id } of own) await vault.unbind(caller, name, id);
    else if (!names.includes(name) && file !== undefined) await vault.unbind(caller, name, file.id);
  }
}
