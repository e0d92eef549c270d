import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Checkpoint } from "../../core/checkpoint.ts";
import type { EngineName } from "../../core/engine.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { templateLimits } from "../../core/template-limits.ts";
import { type ContextJson, contextFromJson, contextToJson } from "../context-json.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Seed } from "../seed.ts";
import { type Keys, templateKeys } from "./keys.ts";
import type { SandboxMaker } from "./maker.ts";

/** The engine that saves memory. */
export const savesMemory = "gvisor" satisfies EngineName;
const aboutName = "about.json";

interface KeptSeedsParts {
  copies: Pick<SandboxMaker["copies"], "checkpoint" | "load" | "remove">;
  keys: Keys;
  folder: string;
  /** Resolves when what a killed daemon left half-made is gone. */
  swept: () => Promise<void>;
}

interface About {
  checkpoint: Checkpoint;
  contexts: ContextJson[];
  keyName: string;
}

/**
 * What templates' sandboxes go on from, over the end of daemons: sealed by the engine, its key in the vault (S75), and in a
 * folder of each template what the owner of the saved sandbox knew. It can be made again: whatever is not whole is removed.
 */
export class KeptSeeds {
  readonly #parts: KeptSeedsParts;

  constructor(parts: KeptSeedsParts) {
    this.#parts = parts;
  }

  /** In place of what was kept of that template before. */
  async keep(templateId: string, sandbox: Sandbox): Promise<void> {
    const { copies, keys, folder, swept } = this.#parts;
    await swept();
    await this.remove(templateId);
    const keyName = `${templateKeys}${randomUUID()}`;
    const draft = join(folder, `.${templateId}`);
    const key = await keys.newKey(keyName);
    let made: Checkpoint | undefined;
    try {
      await mkdir(draft, { recursive: true, mode: 0o700 });
      const { checkpoint, contexts } = await copies.checkpoint(sandbox, { key, folder: join(draft, "owner") });
      made = checkpoint;
      const about: About = { checkpoint, contexts: contexts.map(contextToJson), keyName };
      await writeFile(join(draft, aboutName), JSON.stringify(about), { mode: 0o600, flush: true });
      await rename(draft, this.#of(templateId));
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      await keys.dropKey(keyName);
      if (made !== undefined) await copies.remove(savesMemory, made.id);
      throw error;
    } finally {
      key.fill(0);
    }
  }

  /** In memory until it is unloaded; undefined where there is none. */
  async load(templateId: string): Promise<Seed | undefined> {
    const { copies, keys } = this.#parts;
    const about = await readAbout(this.#of(templateId));
    if (about === undefined) return undefined;
    const key = await keys.readKey(about.keyName);
    const kept = { checkpoint: about.checkpoint, contexts: about.contexts.map(contextFromJson) };
    const place = { key, folder: join(this.#of(templateId), "owner") };
    return copies.load(savesMemory, kept, place).finally(() => key.fill(0));
  }

  /** The key goes first: whatever happens then, nobody can open it. Idempotent. */
  async remove(templateId: string): Promise<void> {
    const { copies, keys } = this.#parts;
    const about = await readAbout(this.#of(templateId)).catch(() => undefined);
    if (about !== undefined) await keys.dropKey(about.keyName);
    await rm(join(this.#of(templateId), aboutName), { force: true });
    if (about !== undefined) await copies.remove(savesMemory, about.checkpoint.id);
    await rm(this.#of(templateId), { recursive: true, force: true });
  }

  #of(templateId: string): string {
    return join(this.#parts.folder, templateId);
  }
}

/** Removes what a killed daemon left of one, but for what the engine keeps. The ids of what is whole; undefined: there never was any. */
export async function sweepSeeds({
  keys,
  folder,
}: Pick<KeptSeedsParts, "keys" | "folder">): Promise<string[] | undefined> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (names === undefined) return undefined;
  const whole: About[] = [];
  for (const name of names) {
    const about = name.startsWith(".") ? undefined : await readAbout(join(folder, name)).catch(() => undefined);
    if (about !== undefined) whole.push(about);
    else await rm(join(folder, name), { recursive: true, force: true });
  }
  const used = new Set(whole.map(({ keyName }) => keyName));
  for (const name of await keys.keyNames())
    if (name.startsWith(templateKeys) && !used.has(name)) await keys.dropKey(name);
  return whole.map(({ checkpoint }) => checkpoint.id);
}

/** Undefined where there is none. */
async function readAbout(folder: string): Promise<About | undefined> {
  const path = join(folder, aboutName);
  try {
    if ((await stat(path)).size > templateLimits.seedBytes)
      throw new AppError("unavailable", `what is known of the memory of template ${basename(folder)} is too large`);
    return JSON.parse(await readFile(path, "utf8")) as About;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
