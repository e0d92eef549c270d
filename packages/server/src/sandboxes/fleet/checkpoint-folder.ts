import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CheckpointRecord } from "../../core/checkpoint.ts";
import type { EgressPolicy } from "../../core/egress.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { checkpointLimits } from "../../core/fork-limits.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import type { ContextJson } from "../context-json.ts";

/** What a daemon knows of a checkpoint. */
export interface About {
  record: CheckpointRecord;
  sandbox: SandboxRecord;
  policy: EgressPolicy | null;
  contexts: ContextJson[];
  /** Of the key that seals its memory, in the vault. */
  keyName: string;
}

const aboutName = "about.json";
const pattern = /^[a-z2-7]{16}$/;

/** Checkpoints in a folder each: `about.json`, and in `owner` what the sandbox's owner knew. It is there when the first is. */
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

  ownerOf(id: string): string {
    return join(this.#folder, id, "owner");
  }

  async add(draft: string, about: About): Promise<void> {
    const path = join(this.#folder, about.record.id);
    await mkdir(path, { mode: 0o700 });
    await rename(draft, join(path, "owner"));
    await writeFile(join(path, `.${aboutName}`), JSON.stringify(about), { mode: 0o600, flush: true });
    await rename(join(path, `.${aboutName}`), join(path, aboutName));
  }

  async read(id: string): Promise<About | undefined> {
    const path = join(this.#folder, id, aboutName);
    try {
      if (!pattern.test(id)) return undefined;
      if ((await stat(path)).size > checkpointLimits.aboutBytes)
        throw new AppError("internal", `what is known of checkpoint ${id} is too large`);
      return JSON.parse(await readFile(path, "utf8")) as About;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  async list(): Promise<About[]> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      if (errnoOf(error) === "ENOENT") return [];
      throw error;
    });
    const found = await Promise.all(names.filter((name) => pattern.test(name)).map((id) => this.read(id)));
    return found.filter((about) => about !== undefined);
  }

  async remove(id: string): Promise<void> {
    await rm(join(this.#folder, id, aboutName), { force: true });
    await rm(join(this.#folder, id), { recursive: true, force: true });
  }

  /** Of daemons that were killed while they made one, or removed one. */
  async sweep(): Promise<void> {
    const known = new Set((await this.list()).map(({ record }) => record.id));
    for (const name of await readdir(this.#folder).catch(() => []))
      if (!known.has(name)) await rm(join(this.#folder, name), { recursive: true, force: true });
  }
}
