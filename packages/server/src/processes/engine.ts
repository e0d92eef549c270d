/** The engine's process: root where it must be, small, and deaf to all but its list of verbs (S22). */
import type { EngineName } from "../core/engine.ts";
import type { FolderRole, NamedFolder } from "../core/folder.ts";
import type { PackageFolder } from "../core/package.ts";
import { LocalEngines } from "../engines/local-engines.ts";
import { EngineServer } from "../engines/server.ts";
import { checkFolder } from "../supervision/folders.ts";
import { layoutOf } from "../supervision/layout.ts";
import { logError, serve } from "../supervision/serve.ts";

export interface EngineConfiguration {
  home: string;
  bin: string;
  runtimePaths: Partial<Record<EngineName, string>>;
  /** Configured folders from which sandboxes may take input, or to which they may copy output. */
  folders: Readonly<Record<FolderRole, readonly NamedFolder[]>>;
  /** Folders from which sandboxes install packages. */
  packageFolders: readonly PackageFolder[];
  /** The daemon's user; this one unless named. */
  owner?: { uid: number; gid: number };
}

await serve<EngineConfiguration>(async ({ home, folders, owner, ...options }) => {
  const check = (folder: NamedFolder, role: FolderRole) =>
    checkFolder(folder, role, home).catch((error: unknown) => {
      logError(error); // the daemon is not told where it lies
      throw error;
    });
  const server = await EngineServer.listen({
    path: layoutOf(home).engineSocket,
    openEngines: () =>
      new LocalEngines({ home, ...options, onError: logError, ...(owner === undefined ? {} : { owner }) }),
    folders: { ...folders, check },
    onError: logError,
    ...(owner === undefined ? {} : { group: owner.gid }),
  });
  return { ready: {}, close: () => server[Symbol.asyncDispose]() };
});
