/** The host's process: there only while access to the host is turned on; the user of `host.run_as`, or the daemon's (S57). */
import { Socket } from "node:net";
import { type HostPolicy, hostSocket } from "../core/host-access.ts";
import { startCommand } from "../engines/spawn.ts";
import { HandServer } from "../host-access/hand-server.ts";
import { LocalHand } from "../host-access/local-hand.ts";
import { credentialPlaces } from "../supervision/credential-places.ts";
import { logError, serve } from "../supervision/serve.ts";

export interface HostConfiguration {
  policy: HostPolicy;
  /** True when a human can approve commands that no pattern allows. */
  attended: boolean;
}

await serve<HostConfiguration>(async ({ policy, attended }) => {
  const hand = new LocalHand({ policy, attended, closed: credentialPlaces, start: startCommand });
  const socket = new Socket({ fd: hostSocket, readable: true, writable: true });
  const server = new HandServer(socket, hand, logError);
  void server.ended.then(() => process.exit(0));
  return { ready: {}, close: async () => server.close() };
});
