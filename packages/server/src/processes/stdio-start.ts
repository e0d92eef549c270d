/** The first sandbox of `caisson mcp`, begun before what serves the client is loaded: the one starts while the other does. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Caisson, openCaisson } from "../app.ts";
import type { Oversight } from "../caisson-parts.ts";
import { caissonOptions } from "../config/caisson-options.ts";
import type { Configuration } from "../config/config.ts";
import { AppError } from "../core/errors.ts";
import { hasLimits, resolveSandboxLimits } from "../core/request.ts";
import type { ActivePolicies } from "../egress/active-policies.ts";
import { openPolicies } from "../egress/open-policies.ts";
import { HelperClient } from "../engines/oci/helper-client.ts";
import type { SandboxMaker } from "../sandboxes/fleet/maker.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { openClient } from "../store/open-client.ts";
import { openSigner, type SigningKey } from "../store/signing-key.ts";
import type { SqliteClient } from "../store/sqlite-client.ts";
import { storePath } from "../store/store-path.ts";
import { makeHome } from "../supervision/access.ts";
import { claimFolder, type FolderLocks, sweepFolders } from "../supervision/owned-folders.ts";

type MakeOptions = Parameters<SandboxMaker["createSandbox"]>[0];

export interface StdioStart extends AsyncDisposable {
  caisson: Caisson;
  maker: SandboxMaker;
  /** Folder of this process alone; it is removed with it. */
  folder: Promise<string>;
  /** The database in that folder, which is being opened. */
  opening: { client: Promise<SqliteClient>; signer: Promise<SigningKey> };
  /** Removes what others like it left that died. */
  sweep(): Promise<void>;
  /** Network policies. */
  policies: ActivePolicies;
  /** Gives the Caisson what the service has opened; the first sandbox waits for it at its gate. */
  oversee(oversight: Oversight): void;
}

export async function startStdio(configuration: Configuration, onError: (error: unknown) => void): Promise<StdioStart> {
  const { home, root } = configuration;
  await makeHome(home);
  await using opened = new AsyncDisposableStack();
  const parent = join(home, "stdio");
  const locks = folderLocks(opened, join(root, ".build/bin/caisson-helper"));
  const folder = claimFolder(parent, locks);
  opened.defer(async () => rm(await folder, { recursive: true, force: true }));
  const client = folder.then((path) => openClient({ path: storePath(path) }, onError));
  opened.defer(() => client.then((it) => it.close()).catch(() => undefined));
  const signer = folder.then(openSigner);
  signer.catch(() => undefined); // whoever opens the store hears of it
  const options = caissonOptions(configuration);
  const launched = Promise.withResolvers<void>();
  const oversight = Promise.withResolvers<Oversight>();
  oversight.promise.catch(() => undefined); // whoever waits for it hears of it
  const policies = await openPolicies(options.network);
  const given = { policies, oversight: oversight.promise, onLaunch: launched.resolve, onError };
  const caisson = opened.use(openCaisson({ ...options, ...given }));
  const limits = resolveSandboxLimits(options.limits);
  const likely = { limits, warm: "first-use", fleet: true, keep: false } as const;
  const engine = caisson.chooseEngine(options.engine);
  let first: Promise<Sandbox> | undefined = engine.then((engine) => caisson.createSandbox({ ...likely, engine }));
  first.catch(launched.resolve);
  const createSandbox = async (asked: MakeOptions): Promise<Sandbox> => {
    const begun = first;
    if (begun !== undefined && isLikely(asked, limits)) {
      first = undefined;
      const sandbox = await begun;
      if (sandbox.engine === asked.engine) return sandbox;
      await sandbox.destroy();
    }
    return caisson.createSandbox({ ...asked, keep: false });
  };
  opened.defer(async () => {
    oversight.reject(new Error("it has ended before it began"));
    await first?.catch(() => undefined);
  });
  await launched.promise;
  const closing = opened.move();
  return {
    ...{ caisson, maker: ephemeral(caisson, createSandbox), folder, policies, oversee: oversight.resolve },
    opening: { client, signer },
    sweep: async () => sweepFolders(parent, await folder, locks),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

function folderLocks(opened: AsyncDisposableStack, helperPath: string): FolderLocks {
  const helper = opened.use(
    new HelperClient(helperPath, ["serve"], { onExit: () => undefined, onDeath: () => undefined }),
  );
  return {
    claim: async (folder) => void (await helper.request("claim", [["folder", folder]])),
    take: async (folder) => {
      try {
        await helper.request("lock", [["folder", folder]]);
        return true;
      } catch (error) {
        if (error instanceof AppError && error.details?.errno !== undefined) return false;
        throw error;
      }
    },
  };
}

/** True where a request for nothing in particular would get the same sandbox. */
function isLikely(
  { engine: _, keep: __, fleet: ___, limits, warm, ...more }: MakeOptions,
  usual: MakeOptions["limits"],
): boolean {
  return warm === "first-use" && hasLimits(limits, usual) && Object.values(more).every((value) => value === undefined);
}

/** Its sandboxes end with it, however it ends; and those of a daemon of the same data folder are none of its own. */
function ephemeral(caisson: Caisson, createSandbox: SandboxMaker["createSandbox"]): SandboxMaker {
  return {
    listeners: caisson.listeners,
    chooseEngine: caisson.chooseEngine.bind(caisson),
    createSandbox,
    attachSandbox: caisson.attachSandbox.bind(caisson),
    copies: caisson.copies,
    startSandbox: caisson.startSandbox.bind(caisson),
    stopSandbox: caisson.stopSandbox.bind(caisson),
    resetSandbox: caisson.resetSandbox.bind(caisson),
    destroySandbox: caisson.destroySandbox.bind(caisson),
    keptSandboxes: async () => [],
    diskRoom: caisson.diskRoom.bind(caisson),
  };
}
