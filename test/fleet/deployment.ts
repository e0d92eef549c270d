import { join } from "node:path";
import { openCaisson } from "../../packages/server/src/app.ts";
import { openService, type Service } from "../../packages/server/src/compose/service.ts";
import type { CaissonOptions } from "../../packages/server/src/core/app-options.ts";
import type { FleetSettings } from "../../packages/server/src/core/fleet.ts";
import { openPolicies } from "../../packages/server/src/egress/open-policies.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { guestPath, root } from "../harness.ts";

type ServiceParts = Parameters<typeof openService>[0];

export interface Deployment extends Partial<Omit<ServiceParts, "openCaisson" | "onError">> {
  settings: FleetSettings;
  caisson?: Partial<CaissonOptions>;
  onError: (error: unknown) => void;
}

/** A daemon without its doors, configured like this. */
export async function openDeployment(home: string, { caisson, ...parts }: Deployment): Promise<Service> {
  await using opened = new AsyncDisposableStack();
  const options = { home, root, guestPath, onError: parts.onError, ...caisson };
  const service = opened.use(
    await openService({
      folder: join(home, "daemon"),
      policies: await openPolicies(options.network),
      records: options.records,
      openCaisson: (given) => opened.use(openCaisson({ ...options, ...given })),
      approvals: { attended: true, timeoutMs: 60_000, holdMs: 30_000 },
      clock: systemClock,
      ...parts,
    }),
  );
  const kept = opened.move();
  return { ...service, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
