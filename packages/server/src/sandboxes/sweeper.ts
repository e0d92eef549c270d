import type { Blobs, Swept } from "../core/blob.ts";
import { markManifest } from "./tree-manifest.ts";

/** Removes blobs that no manifest needs any more. A manifest that cannot be read ends a sweep before anything goes. */
export class Sweeper {
  readonly #blobs: Blobs;
  readonly #manifests: () => Promise<string[]>;
  readonly #onError: (error: unknown) => void;
  #underWay: Promise<void> | undefined;
  #again = false;

  constructor(blobs: Blobs, manifests: () => Promise<string[]>, onError: (error: unknown) => void) {
    this.#blobs = blobs;
    this.#manifests = manifests;
    this.#onError = onError;
  }

  async sweep(): Promise<Swept> {
    return this.#blobs.sweep(async (live) => {
      for (const manifest of await this.#manifests()) await markManifest(this.#blobs, manifest, live);
    });
  }

  /** Soon, in the background; requests that come meanwhile share the next sweep. */
  request(): void {
    this.#again = true;
    this.#underWay ??= this.#run().finally(() => {
      this.#underWay = undefined;
    });
  }

  /** Resolves when nothing that was requested is left to do. */
  async settled(): Promise<void> {
    await this.#underWay;
  }

  async #run(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      await this.sweep().catch(this.#onError);
    }
  }
}
