import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../core/errors.ts";

/** What the owners of saved sandboxes knew, in a folder for each checkpoint. Which there are, the store knows. */
export class CheckpointFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Where one comes to be. */
  async draft(name: string): Promise<string> {
    const folder = join(this.#folder, `.${name}`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  async add(draft: string, id: string): Promise<void> {
    await rename(draft, this.of(id));
  }

  of(id: string): string {
    return join(this.#folder, id);
  }

  async remove(id: string): Promise<void> {
    await rm(this.of(id), { recursive: true, force: true });
  }

  /** Of daemons that were killed while they made one, or removed one. False: there never was any. */
  async sweep(known: ReadonlySet<string>): Promise<boolean> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    });
    for (const name of names ?? []) if (!known.has(name)) await this.remove(name);
    return names !== undefined;
  }
}
