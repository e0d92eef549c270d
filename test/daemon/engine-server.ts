import { join } from "node:path";
import { Caisson } from "../../packages/server/src/app.ts";
import { EngineClient } from "../../packages/server/src/engines/client.ts";
import { LocalEngines } from "../../packages/server/src/engines/local-engines.ts";
import { EngineServer } from "../../packages/server/src/engines/server.ts";
import type { ServerFolders } from "../../packages/server/src/engines/server-folders.ts";
import { makeDataFolder, removeDataFolder } from "../data-folder.ts";
import { guestPath, root } from "../harness.ts";

export interface TestEngineServer extends AsyncDisposable {
  home: string;
  socketPath: string;
  errors: unknown[];
  connect(): Promise<EngineClient>;
  /** A Caisson whose engines are at the other end of the socket. */
  open(): Promise<Caisson>;
}

/** An engine's host in this process, with a data folder of its own; disposing checks that nothing was left behind. */
export async function openTestEngineServer(
  owner?: { uid: number; gid: number },
  folders: ServerFolders = { input: [], output: [], check: async () => undefined },
): Promise<TestEngineServer> {
  const home = await makeDataFolder("/var/tmp/caisson-test-");
  const socketPath = join(home, "run/engine/socket");
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const bin = join(root, ".build/bin");
  const server = await EngineServer.listen({
    path: socketPath,
    onError,
    folders,
    openEngines: () => new LocalEngines({ home, bin, guestPath, onError, ...(owner === undefined ? {} : { owner }) }),
    ...(owner === undefined ? {} : { group: owner.gid }),
  });
  const connect = () => EngineClient.connect({ path: socketPath, sandboxes: join(home, "engine/sandboxes"), onError });
  return {
    home,
    socketPath,
    errors,
    connect,
    open: async () => new Caisson({ home, root, engines: await connect() }),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await removeDataFolder(home);
    },
  };
}
