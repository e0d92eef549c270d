/**
 * The verbs of the engine's socket: a closed list. Every argument is an id that the engine issued or its configuration gave, a
 * number in its range or a word of a list: no path, no command line (S22). The client takes the types from here.
 */
import type { LoadOptions } from "../core/checkpoint.ts";
import {
  type CreatedSandbox,
  type Engine,
  type EngineName,
  type SandboxLimits,
  type SandboxSpec,
  type StartOptions,
  warmChoices,
} from "../core/engine.ts";
import type { EngineSource } from "../core/engine-source.ts";
import { folderId } from "../core/folder.ts";
import { type FreezeOptions, layerId } from "../core/layer.ts";
import { requestLimits } from "../core/limits.ts";
import { engineChoices } from "../core/request.ts";
import { type Check, flag, matching, oneOf, optional, shape, within } from "../core/shape.ts";
import { type ServerFolders, withFolder } from "./server-folders.ts";
import type { ServerWatches } from "./server-watches.ts";

/** Parts of the engine that a verb can use. */
export interface VerbContext {
  engines: EngineSource;
  folders: ServerFolders;
  watches: ServerWatches;
}

type Fields<A> = { [K in keyof A]-?: Check<A[K] | undefined> };

/** Checks the arguments and does what the verb says. */
function verb<A extends object, R>(fields: Fields<A>, act: (args: A, context: VerbContext) => Promise<R>) {
  const check = shape<A>(fields);
  return {
    check,
    run: (args: unknown, context: VerbContext) => act(check(args, "args"), context),
    /** True if the daemon owns the sandbox of the result from then on. */
    owns: false,
  };
}

/** A verb of one engine, which the arguments name. */
function engineVerb<A extends object, R>(
  fields: Fields<A>,
  act: (engine: Engine, args: A, context: VerbContext) => Promise<R>,
) {
  const all = { engine, ...fields } as Fields<A & { engine: EngineName }>;
  return verb<A & { engine: EngineName }, R>(all, async (args, context) =>
    act(await context.engines.open(args.engine), args, context),
  );
}

/** A verb that makes the daemon the owner of a sandbox. The daemon finds the wire by the sandbox's id, not by a path. */
function ownerVerb<A extends object, S extends CreatedSandbox>(
  fields: Fields<A>,
  act: (engine: Engine, args: A, context: VerbContext) => Promise<S>,
) {
  const row = engineVerb(fields, async (engine, args: A, context) => {
    const { toGuestPath: _to, fromGuestPath: _from, ownerFolder: _owner, ...rest } = await act(engine, args, context);
    return rest;
  });
  return { ...row, owns: true };
}

const engine = oneOf<EngineName>(["gvisor", "container"]);
const id = matching(/^[a-z2-7]{16}$/);
const layer = matching(layerId);
const folder = matching(folderId);
const watch = within({ default: 1, min: 1, max: Number.MAX_SAFE_INTEGER });
/** A key of AES-256, in hex. */
const key = matching(/^[0-9a-f]{64}$/);

const limits = shape<SandboxLimits>({
  memoryBytes: within(requestLimits.memoryBytes),
  cpus: within(requestLimits.cpus, false),
  cpuShares: within(requestLimits.cpuShares, false),
  processes: within(requestLimits.processes),
  storageBytes: within(requestLimits.storageBytes),
});

const startOptions = shape<StartOptions>({
  limits: optional(
    shape<Partial<SandboxLimits>>({
      memoryBytes: optional(within(requestLimits.memoryBytes)),
      cpus: optional(within(requestLimits.cpus, false)),
      cpuShares: optional(within(requestLimits.cpuShares, false)),
      processes: optional(within(requestLimits.processes)),
      storageBytes: optional(within(requestLimits.storageBytes)),
    }),
  ),
  warm: optional(oneOf(warmChoices)),
  listeners: optional(flag),
  root: optional(layer),
});

const freezeOptions = shape<FreezeOptions>({ keep: flag, copy: optional(flag), lent: optional(flag) });
const loadOptions = shape<LoadOptions>({ unchanged: optional(flag), listeners: optional(flag) });

const spec = shape<Omit<SandboxSpec, "inputFolder">>({
  limits,
  root: optional(layer),
  base: optional(layer),
  folder: optional(folder),
  outputFolder: optional(folder),
  warm: optional(oneOf(warmChoices)),
  listeners: optional(flag),
  keep: optional(flag),
  fleet: optional(flag),
});

export const verbs = {
  choose: verb({ choice: oneOf(engineChoices) }, ({ choice }, { engines }) => engines.choose(choice)),
  kept: verb({}, (_, { engines }) => engines.kept()),
  engineOfKept: verb({ id }, async ({ id }, { engines }) => (await engines.engineOfKept(id)) ?? null),
  searchPath: verb({}, (_, { engines }) => engines.searchPath()),
  probe: verb({}, (_, { engines }) => engines.probe()),
  checkHost: verb({}, (_, { engines }) => engines.checkHost()),
  create: ownerVerb({ spec }, (engine, { spec }, { folders }) => create(engine, spec, folders)),
  attach: ownerVerb({ id }, (engine, { id }) => engine.attach(id)),
  detach: engineVerb({ id }, (engine, { id }) => engine.detach(id)),
  stop: engineVerb({ id }, (engine, { id }) => engine.stop(id)),
  start: ownerVerb({ id, options: startOptions }, (engine, { id, options }) => engine.start(id, options)),
  reset: engineVerb({ id }, (engine, { id }) => engine.reset(id)),
  freeze: engineVerb({ id, options: freezeOptions }, (engine, { id, options }) => engine.freeze(id, options)),
  diskRoom: engineVerb({}, (engine) => engine.diskRoom()),
  layers: engineVerb({}, (engine) => engine.layers()),
  removeLayer: engineVerb({ layer }, (engine, { layer }) => engine.removeLayer(layer)),
  releaseLayer: engineVerb({ layer }, (engine, { layer }) => engine.releaseLayer(layer)),
  restLayer: engineVerb({ layer }, (engine, { layer }) => engine.restLayer(layer)),
  pause: engineVerb({ id }, (engine, { id }) => engine.pause(id)),
  resume: engineVerb({ id }, (engine, { id }) => engine.resume(id)),
  updateLimits: engineVerb({ id, limits }, (engine, { id, limits }) => engine.updateLimits(id, limits)),
  stats: engineVerb({ id }, (engine, { id }) => engine.stats(id)),
  oomKills: engineVerb({ id }, (engine, { id }) => engine.oomKills(id)),
  markFiles: engineVerb({ id }, (engine, { id }) => engine.markFiles(id)),
  changedFiles: engineVerb({ id }, (engine, { id }) => engine.changedFiles(id)),
  copyOutput: engineVerb({ id, folder }, (engine, { id, folder }, { folders }) =>
    withFolder(folders, "output", folder, (path) => engine.copyOutput(id, { path })),
  ),
  destroy: engineVerb({ id }, (engine, { id }) => engine.destroy(id)),
  destroyKept: engineVerb({ id }, (engine, { id }) => engine.destroyKept(id)),
  checkpoint: engineVerb({ id }, (engine, { id }) => engine.checkpoint(id)),
  restore: engineVerb({ id, checkpoint: id }, (engine, { id, checkpoint }) => engine.restore(id, checkpoint)),
  createFrom: ownerVerb({ checkpoint: id }, (engine, { checkpoint }) => engine.createFrom(checkpoint)),
  forgetCheckpoint: engineVerb({ checkpoint: id }, (engine, { checkpoint }) => engine.forgetCheckpoint(checkpoint)),
  keepCheckpoint: engineVerb({ checkpoint: id, key }, (engine, { checkpoint, key }) =>
    engine.keepCheckpoint(checkpoint, Buffer.from(key, "hex")),
  ),
  loadCheckpoint: engineVerb({ checkpoint: id, key, options: loadOptions }, (engine, { checkpoint, key, options }) =>
    engine.loadCheckpoint(checkpoint, Buffer.from(key, "hex"), options),
  ),
  removeCheckpoint: engineVerb({ checkpoint: id }, (engine, { checkpoint }) => engine.removeCheckpoint(checkpoint)),
  checkpoints: engineVerb({}, (engine) => engine.checkpoints()),
  watchFiles: engineVerb({ id }, async (engine, { id }, { watches }) => watches.add(await engine.watchFiles(id))),
  watchNext: verb({ watch }, ({ watch }, { watches }) => watches.next(watch)),
  watchClose: verb({ watch }, ({ watch }, { watches }) => watches.close(watch)),
};

export type Verb = keyof typeof verbs;
export type VerbArguments<V extends Verb> = ReturnType<(typeof verbs)[V]["check"]>;
export type VerbResult<V extends Verb> = Awaited<ReturnType<(typeof verbs)[V]["run"]>>;

export function isVerb(word: string): word is Verb {
  return Object.hasOwn(verbs, word);
}

async function create(
  engine: Engine,
  { folder, outputFolder, ...spec }: Omit<SandboxSpec, "inputFolder">,
  folders: ServerFolders,
): Promise<CreatedSandbox> {
  if (outputFolder !== undefined) await withFolder(folders, "output", outputFolder, async () => undefined);
  if (folder === undefined) return engine.create(spec);
  return withFolder(folders, "input", folder, (inputFolder) => engine.create({ ...spec, inputFolder }));
}
