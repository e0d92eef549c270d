import { readFile } from "node:fs/promises";
import { AppError } from "../core/errors.ts";
import { AddressCache } from "./address-cache.ts";
import type { World } from "./connect.ts";
import { checkServers, dial, resolveAddresses } from "./dialer.ts";
import { gateLimits } from "./gate-limits.ts";
import { addressesIn } from "./hosts-file.ts";
import { isOwnAddress } from "./own-addresses.ts";

/** The world as this machine sees it: its hosts file and its name servers, or those that are configured alone. */
export function hostWorld(dnsServers: readonly string[] = []): World {
  checkServers(dnsServers);
  let open = 0;
  const cache = new AddressCache(
    (name) => resolveAddresses(name, dnsServers),
    () => performance.now(),
  );
  return {
    isOwnAddress,
    async resolve(name) {
      const own = dnsServers.length > 0 ? "" : await readFile("/etc/hosts", "latin1").catch(() => "");
      const known = addressesIn(own, name).slice(0, gateLimits.addresses);
      return known.length > 0 ? known : cache.resolve(name);
    },
    async dial(address, port, signal) {
      if (open >= gateLimits.sockets)
        throw new AppError("limit_exceeded", `too many connections of all sandboxes (limit: ${gateLimits.sockets})`);
      open++;
      try {
        const socket = await dial(address, port, signal);
        socket.once("close", () => open--);
        return socket;
      } catch (error) {
        open--;
        throw error;
      }
    },
  };
}
