import { join } from "node:path";
import type { Downloads } from "../core/download.ts";
import type { EgressLog, PolicySource } from "../core/egress.ts";
import type { PackageHosts } from "../core/package.ts";
import type { HeaderSecrets } from "../core/secret.ts";
import type { Tunnels } from "../core/tunnel.ts";
import type { Clock } from "../lib/clock.ts";
import type { ApprovalSource } from "./ask.ts";
import type { World } from "./connect.ts";
import { Gate, type GateParts } from "./gate.ts";
import type { UpstreamTrust } from "./inspection/upstream-trust.ts";

export interface GatesParts {
  policies: PolicySource;
  log: EgressLog;
  /** Who may be asked on behalf of a sandbox. */
  asking?: (sandboxId: string) => ApprovalSource | undefined;
  world: World;
  trust: UpstreamTrust;
  secrets?: HeaderSecrets;
  downloads?: Downloads;
  packageHosts?: PackageHosts;
  clock: Clock;
  onError: (error: unknown) => void;
}

/** Opens the gate of each sandbox whose wire this process has; it closes with the wire. */
export async function openGate(
  { asking, clock, ...parts }: GatesParts,
  { id, ownerFolder, ...inside }: { id: string; ownerFolder: string } & Pick<GateParts, "notice" | "redactor">,
  { tunnels, lost }: { tunnels: Tunnels; lost: Promise<string> },
): Promise<Gate> {
  const gate = await Gate.open({
    ...parts,
    sandboxId: id,
    tunnels,
    ...inside,
    namesPath: join(ownerFolder, "names"),
    authorityPath: join(ownerFolder, "authority"),
    ...(asking === undefined ? {} : { asking: () => asking(id) }),
    nowMs: () => clock.wallMs(),
  });
  void lost.then((reason) => gate.close(`the sandbox is gone: ${reason}`));
  return gate;
}
