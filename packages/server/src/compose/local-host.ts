/** The host where no daemon runs: as whoever started this process, and never as root. */
import { geteuid } from "node:process";
import { approvalOptions } from "../config/approval-options.ts";
import type { Configuration } from "../config/config.ts";
import { hostOptions } from "../config/host-options.ts";
import { startCommand } from "../engines/spawn.ts";
import { LocalHand } from "../host-access/local-hand.ts";
import type { OpenedHost } from "../host-access/open-host.ts";
import { credentialPlaces } from "../supervision/credential-places.ts";
import { hostAccount } from "../supervision/host-account.ts";
import { checkOpenFolder } from "../supervision/open-folders.ts";

/** Undefined where it stays closed. */
export async function openLocalHost(
  configuration: Configuration,
  log: (text: string) => void,
): Promise<OpenedHost | undefined> {
  const host = hostOptions(configuration);
  if (host === undefined) return undefined;
  if (geteuid?.() === 0) {
    log("the host stays closed: without a daemon (caisson up) things would be done on it as root");
    return undefined;
  }
  await hostAccount(host.runAs, undefined);
  for (const folder of host.settings.folders) await checkOpenFolder(folder, configuration.home);
  const { attended } = approvalOptions(configuration);
  const hand = new LocalHand({ policy: host.settings, attended, closed: credentialPlaces, start: startCommand });
  return { settings: host.settings, hand };
}
