import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../core/errors.ts";
import { credentialPlaces } from "../../supervision/credential-places.ts";
import { FirstLines } from "../first-lines.ts";
import { isIgnored, readIgnoreRules } from "./ignore-rules.ts";

/** Names that no upload of code needs: histories, installed packages, caches. */
const needless = [
  ...[".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv"],
  ...[".pytest_cache", ".mypy_cache", ".ruff_cache", ".DS_Store"],
];
const privateKey = /^id_(rsa|dsa|ecdsa|ed25519)(_sk)?$/;
/** The last one wins: it may bring back what a repository ignores and a server needs, such as `dist`. */
const ignoreFiles = [".gitignore", ".dockerignore", ".caissonignore"] as const;

/** True for files that hold keys, wherever they lie (S141). No ignore file brings them back. */
function holdsKeys(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name.startsWith(".env") || privateKey.test(name)) return true;
  return credentialPlaces.some((place) => path === place || path.endsWith(`/${place}`));
}

interface Rules {
  folder: string;
  rules: ReturnType<typeof readIgnoreRules>;
}

/** Decides what of a folder stays out of an upload, and remembers the names. */
export class LeftOut {
  readonly #rules: Rules[] = [];
  readonly #told = new FirstLines();

  /** The first names, and the number of the others. */
  get names(): readonly string[] {
    return this.#told.all;
  }

  /** Reads the ignore files of a folder, whose path below the root is `below`. */
  async enter(root: string, below: string): Promise<void> {
    for (const name of ignoreFiles) {
      const text = await readFile(join(root, below, name), "utf8").catch((error: unknown) => {
        if (["ENOENT", "EISDIR", "ENOTDIR"].includes(errnoOf(error) ?? "")) return "";
        throw error;
      });
      if (text !== "") this.#rules.push({ folder: below === "" ? "" : `${below}/`, rules: readIgnoreRules(text) });
    }
  }

  takes(path: string, isFolder: boolean): boolean {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const isOut = needless.includes(name) || holdsKeys(path) || this.#isIgnored(path, isFolder);
    if (isOut) this.#told.add(isFolder ? `${path}/` : path);
    return isOut;
  }

  #isIgnored(path: string, isFolder: boolean): boolean {
    let found = false;
    for (const { folder, rules } of this.#rules)
      if (path.startsWith(folder)) found = isIgnored(rules, path.slice(folder.length), isFolder) ?? found;
    return found;
  }
}
