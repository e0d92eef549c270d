/** Sandboxes of hosted servers: the fleet's, found and changed in each server's own name (S120). */
import type { Caisson } from "../app.ts";
import { toCommand } from "../core/command.ts";
import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import type { SandboxRecord } from "../core/sandbox-record.ts";
import type { NetworkPolicies } from "../egress/network-policies.ts";
import type { SandboxFleet } from "../sandboxes/fleet/fleet.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { serveProgram } from "../sandboxes/serve-program.ts";
import type { Snapshots } from "../sandboxes/snapshots.ts";
import type {
  OwnedSandbox,
  RunningSandbox,
  SandboxTerms,
  SandboxUse,
  ServerOwner,
  ServerSandboxes,
} from "../servers/server-sandboxes.ts";

export interface ServerSandboxParts {
  fleet: SandboxFleet;
  snapshots: Snapshots;
  policies: Pick<NetworkPolicies, "setSandboxPolicy">;
  caisson: Pick<Caisson, "restLayer">;
}

/** Labels by which a sandbox remembers what it is for. */
const labels = { use: "server.use", person: "server.person" } as const;
const codeFolder = "/app";

export function openServerSandboxes({ fleet, snapshots, policies, caisson }: ServerSandboxParts): ServerSandboxes {
  /** A stopped server holds no mount of its code: others may run that version still. */
  const rest = async ({ engine, layerId }: SandboxRecord) => {
    if (layerId !== null) await caisson.restLayer(engine, layerId).catch(ignoreGone);
  };
  const inside = <T>(server: ServerOwner, id: string, act: (caller: Caller, sandbox: Sandbox) => Promise<T>) => {
    const caller = callerOf(server);
    return fleet.use(caller, id, (sandbox) => act(caller, sandbox));
  };
  return {
    all: () => fleet.ofServers().map(ownedOf),
    create: async (server, use, { root, env, limits, network }, snapshotId) => {
      const { record } = await fleet.create(callerOf(server), {
        ...{ root, env, limits, network, labels: labelsOf(use), warm: "never", keepArtifactsMs: 0 },
        ...(snapshotId === null ? {} : { snapshotId }),
      });
      return record.id;
    },
    start: async (server, id, terms) => {
      const caller = callerOf(server);
      await applyTerms(fleet, caller, id, terms);
      const before = await fleet.get(caller, id);
      await fleet.serve(caller, id, { root: terms.root, secrets: terms.secrets });
      if (before.layerId !== terms.root.layerId) await rest(before);
      return fleet.use(caller, id, async (sandbox) => running(sandbox));
    },
    change: async (server, id, { limits: { storageBytes: _, ...limits }, network }) => {
      const caller = callerOf(server);
      await policies.setSandboxPolicy(caller, id, network);
      await fleet.change(caller, id, { limits });
    },
    stop: async (server, id) => rest(await fleet.stop(callerOf(server), id)),
    destroy: async (server, id) => {
      const record = await fleet.get(callerOf(server), id);
      await fleet.destroy(callerOf(server), id);
      await rest(record);
    },
    save: (server, id, description) =>
      inside(server, id, async (caller, sandbox) => (await snapshots.create(caller, sandbox, description)).id),
    restore: (server, id, snapshotId) =>
      inside(server, id, async (caller, sandbox) => void (await snapshots.restore(caller, sandbox, snapshotId))),
    forget: (server, snapshotId) => snapshots.delete(callerOf(server), snapshotId).catch(ignoreGone),
  };
}

/** Acts for the server: what its deployer may do was settled by the deploy. */
function callerOf({ id, namespace }: ServerOwner): Caller {
  const principal = { id: `server:${id}`, name: "hosted server", namespace, role: "operator" } as const;
  return { principal, requestId: `server:${id}`, serverId: id };
}

function labelsOf({ use, person }: SandboxUse): Record<string, string> {
  return { [labels.use]: use, [labels.person]: person };
}

function ownedOf({ id, namespace, serverId, labels: own }: SandboxRecord): OwnedSandbox {
  const use = own[labels.use];
  return {
    id,
    server: { id: serverId ?? "", namespace },
    use: use === "shared" || use === "person" ? use : "check",
    person: own[labels.person] ?? "",
  };
}

/** Settings may have changed since it was made. */
async function applyTerms(
  fleet: SandboxFleet,
  caller: Caller,
  id: string,
  { env, limits: { storageBytes: _, ...limits } }: Pick<SandboxTerms, "env" | "limits">,
): Promise<void> {
  const { env: envNow, limits: limitsNow } = await fleet.get(caller, id);
  const hasEnv = JSON.stringify(sorted(env)) === JSON.stringify(sorted(envNow));
  const hasLimits = Object.entries(limits).every(
    ([name, value]) => limitsNow[name as keyof typeof limitsNow] === value,
  );
  if (hasEnv && hasLimits) return;
  await fleet.change(caller, id, { ...(hasEnv ? {} : { env }), ...(hasLimits ? {} : { limits }) });
}

const sorted = (env: Readonly<Record<string, string>>) =>
  Object.entries(env).sort(([left], [right]) => (left < right ? -1 : 1));

function running(sandbox: Sandbox): RunningSandbox {
  return {
    id: sandbox.id,
    lost: sandbox.lost,
    dial: (port) => sandbox.wire.tunnels.dial(port),
    mask: (value) => sandbox.redactor.value(value),
    run: ({ command, ...io }) =>
      serveProgram(sandbox, toCommand({ what: { argv: command }, as: "run", cwd: codeFolder, stdin: "stream" }), io),
    use: async () => {
      const { cpuMs, memoryBytes } = await sandbox.stats();
      return { cpuMs, memoryBytes };
    },
  };
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof AppError && error.code === "not_found")) throw error;
}
