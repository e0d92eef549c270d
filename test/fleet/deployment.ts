import { join } from "node:path";
import { openCaisson } from "../../packages/server/src/app.ts";
import { openService, type Service } from "../../packages/server/src/compose/service.ts";
import type { CaissonOptions } from "../../packages/server/src/core/app-options.ts";
import { systemClock } from "../../packages/server/src/core/clock.ts";
import type { FleetSettings } from "../../packages/server/src/core/fleet.ts";
import { guestPath, root } from "../harness.ts";

type ServiceParts = Parameters<typeof openService>[0];

export interface Deployment extends Partial<Omit<ServiceParts, "caisson" | "onError">> {
  settings: FleetSettings;
  caisson?: Partial<CaissonOptions>;
  onError: (error: unknown) => void;
}

/** A daemon without its doors, configured like this. */
export async function openDeployment(home: string, { caisson: options, ...parts }: Deployment): Promise<Service> {
  const caisson = openCaisson({ home, root, guestPath, onError: parts.onError, ...options });
  const service = await openService({
    folder: join(home, "daemon"),
    caisson,
    approvals: { attended: true, timeoutMs: 60_000, holdMs: 30_000 },
    clock: systemClock,
    ...parts,
  });
  return {
    ...service,
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await caisson[Symbol.asyncDispose]();
    },
  };
}
