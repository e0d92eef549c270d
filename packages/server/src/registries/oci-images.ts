import { AppError } from "../core/errors.ts";
import type { Imported, ImportProgress, TreeImporter } from "../core/import-tree.ts";
import type { Caller } from "../core/principal.ts";
import type { RegistryWay } from "../core/registry-way.ts";
import { buildLimits } from "../images/limits.ts";
import { Turn } from "../lib/turn.ts";
import { readConfig } from "./documents.ts";
import { collectImage, findManifest } from "./find-image.ts";
import { readImageConfig } from "./image-config.ts";
import type { FoundImage } from "./image-source.ts";
import { ImportPlaces } from "./import-places.ts";
import { registryLimits } from "./limits.ts";
import { Notes } from "./notes.ts";
import type { Platform } from "./platform.ts";
import { readImageArchive } from "./read-image-archive.ts";
import { checkPlatform, readLayers } from "./read-layers.ts";
import { parseReference, type Reference } from "./reference.ts";
import { RegistryClient } from "./registry-client.ts";
import { RegistrySource } from "./registry-source.ts";
import { clearStaging, Staging } from "./staging.ts";

export interface OciParts {
  /** Where blobs are staged; nothing else is there. */
  folder: string;
  images: TreeImporter;
  way: RegistryWay;
  /** The value of a secret, for this registry; written down before anybody has it. */
  lend: (caller: Caller, secret: string, registry: string) => Promise<Buffer>;
  platform: Platform;
  onError: (error: unknown) => void;
}

export interface PullRequest {
  reference: string;
  /** The image's name here; the reference unless given. */
  name?: string;
  /** A secret that holds `USER:PASSWORD`. */
  credentials?: string;
}

export interface LoadRequest {
  /** The image's name here; what the archive calls it unless given. */
  name?: string;
  /** Which of several images in the archive. */
  image?: string;
}

/** When nothing is left to do of an import. */
type Over = PromiseWithResolvers<void>;

const downloadStep = "download";
const mergeStep = "merge";

/** Images that others have made: of a registry, a layout or a docker archive (IMG-03). */
export class OciImages {
  readonly #parts: OciParts;
  /** The names of one image are held at a time: there may be hundreds of megabytes of them. */
  readonly #merging = new Turn();
  readonly #places = new ImportPlaces();

  private constructor(parts: OciParts) {
    this.#parts = parts;
  }

  /** What the last daemon was about is gone. */
  static async open(parts: OciParts): Promise<OciImages> {
    await clearStaging(parts.folder);
    return new OciImages(parts);
  }

  /** Answers when it is known which image it is; its layers are fetched when its turn has come. */
  pull(caller: Caller, request: PullRequest): Promise<Imported> {
    return this.#staged(caller, async (staging, over) => {
      const { platform, images } = this.#parts;
      const reference = parseReference(request.reference);
      const name = checkName(request.name ?? request.reference.toLowerCase());
      const credentials = await this.#credentials(caller, request, reference);
      const sourceFor = (signal: AbortSignal) =>
        new RegistrySource(new RegistryClient({ way: this.#parts.way, reference, credentials, signal }), staging);
      const first = sourceFor(AbortSignal.timeout(registryLimits.lookMs));
      const found = await findManifest(first, await first.start(reference), platform);
      const config = await first.document(found.config);
      const open = async (progress: ImportProgress) => {
        await progress.begin(downloadStep);
        const stop = new AbortController();
        const source = sourceFor(AbortSignal.any([progress.signal, stop.signal]));
        return this.#merge(await collectImage(source, found, () => stop.abort()), progress, over);
      };
      const draft = { name, digest: found.config.digest, ...describe(config, platform), open };
      return images.importTree(caller, { ...draft, steps: [downloadStep, mergeStep] });
    });
  }

  /** From an archive that is here when this answers. */
  load(caller: Caller, archive: AsyncIterable<Uint8Array>, { name, image }: LoadRequest): Promise<Imported> {
    return this.#staged(caller, async (staging, over) => {
      const { platform, images } = this.#parts;
      const found = await readImageArchive(staging, archive, platform, image === undefined ? {} : { name: image });
      const draft = {
        name: checkName(name ?? found.name?.toLowerCase() ?? ""),
        namesItself: name === undefined,
        digest: found.digest,
        ...describe(found.config, platform),
        open: (progress: ImportProgress) => this.#merge(found, progress, over),
      };
      return images.importTree(caller, { ...draft, steps: [mergeStep] });
    });
  }

  /** What is staged goes with the import, whichever way that ends. */
  async #staged(caller: Caller, act: (staging: Staging, over: Over) => Promise<Imported>): Promise<Imported> {
    const place = this.#places.take(caller);
    let staging: Staging | undefined;
    const over = Promise.withResolvers<void>();
    const end = async () => {
      place[Symbol.dispose]();
      over.resolve();
      await staging?.[Symbol.asyncDispose]();
    };
    try {
      staging = await Staging.open(this.#parts.folder);
      const imported = await act(staging, over);
      if (imported.isNew) void this.#parts.images.settled(imported.record.id).then(end).catch(this.#parts.onError);
      else await end();
      return imported;
    } catch (error) {
      await end();
      throw error;
    }
  }

  /** All of it is looked through before a sandbox gets a byte. Its turn lasts until its archive was read, or its import is over. */
  async #merge(
    found: FoundImage,
    { begin, log, signal }: ImportProgress,
    over: Over,
  ): Promise<AsyncIterable<Uint8Array>> {
    await begin(mergeStep);
    await this.#myTurn(over, signal);
    const { tar, notes } = await readLayers(found, this.#parts.platform, signal);
    for (const note of notes) await log.write(`${note}\n`);
    return endingWith(tar(), over.resolve);
  }

  /** One that is given up while it waits lets the next pass when its turn comes. */
  async #myTurn(over: Over, signal: AbortSignal): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const turn = this.#merging.take(async () => {
      begun.resolve();
      await over.promise;
    });
    const given = () => begun.reject(signal.reason);
    signal.addEventListener("abort", given, { once: true });
    if (signal.aborted) given();
    await Promise.race([begun.promise, turn]).finally(() => signal.removeEventListener("abort", given));
  }

  async #credentials(caller: Caller, { credentials }: PullRequest, { registry }: Reference): Promise<string | null> {
    if (credentials === undefined) return null;
    const value = await this.#parts.lend(caller, credentials, registry);
    try {
      const text = value.toString("utf8").trim();
      if (!/^[^:\n]+:[^\n]+$/.test(text))
        throw new AppError("invalid", `the secret ${credentials} is not USER:PASSWORD`);
      return text;
    } finally {
      value.fill(0);
    }
  }
}

async function* endingWith(pieces: AsyncIterable<Uint8Array>, end: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
  } finally {
    end();
  }
}

function describe(config: Buffer, platform: Platform) {
  const document = readConfig(config);
  checkPlatform(document, platform);
  return { config: readImageConfig(document, new Notes()), description: "" };
}

/** As names of images are anywhere here. */
function checkName(name: string): string {
  if (
    name === "" ||
    name.length > buildLimits.nameCharacters ||
    !/^[a-z0-9][a-z0-9._/:@-]*$/.test(name) ||
    name === "host"
  )
    throw new AppError("invalid", `${JSON.stringify(name.slice(0, 80))} is not a valid image name`, {
      hint: "set a name of lowercase letters, digits and . _ - / : @",
    });
  return name;
}
