import { AppError } from "../core/errors.ts";
import type { Redactor } from "../core/redaction.ts";
import type { FileEvent, FileWatch, WatchOptions } from "../core/watch.ts";

/** The path of a folder from the workspace on, without looking at it: a link is not followed. */
function folderOf(path: string): string {
  const inside = /^\/workspace(?:\/|$)(.*)$/s.exec(path)?.[1] ?? path;
  if (inside.startsWith("/")) throw new AppError("forbidden", `${path}: only folders of /workspace can be watched`);
  const parts = inside.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw new AppError("invalid", `${path}: a watched path cannot contain ..`);
  return parts.map((part) => `${part}/`).join("");
}

/** The event as one who sees only the folder is told it; undefined when it is none of theirs. */
export function seenFrom(event: FileEvent, folder: string, recursive: boolean): FileEvent | undefined {
  if (event.type === "overflow") return event;
  const within = (path: string | undefined) => {
    if (path === undefined || !path.startsWith(folder) || path.length === folder.length) return undefined;
    const relative = path.slice(folder.length);
    return recursive || !relative.includes("/") ? relative : undefined;
  };
  const path = within(event.path);
  if (event.type !== "moved") return path === undefined ? undefined : { ...event, path };
  const from = within(event.from);
  if (path !== undefined && from !== undefined) return { type: "moved", path, from };
  if (path !== undefined) return { type: "created", path };
  return from === undefined ? undefined : { type: "deleted", path: from };
}

class FolderWatch implements FileWatch {
  readonly #whole: FileWatch;
  readonly #folder: string;
  readonly #recursive: boolean;
  readonly #redactor: Pick<Redactor, "value">;

  constructor(whole: FileWatch, folder: string, recursive: boolean, redactor: Pick<Redactor, "value">) {
    this.#redactor = redactor;
    this.#whole = whole;
    this.#folder = folder;
    this.#recursive = recursive;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FileEvent, void> {
    for await (const event of this.#whole) {
      const seen = seenFrom(event, this.#folder, this.#recursive);
      if (seen !== undefined) yield this.#redactor.value(seen);
    }
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#whole[Symbol.asyncDispose]();
  }
}

export async function watchFolder(
  watchAll: () => Promise<FileWatch>,
  path: string,
  options: WatchOptions,
  redactor: Pick<Redactor, "value">,
): Promise<FileWatch> {
  const folder = folderOf(path);
  return new FolderWatch(await watchAll(), folder, options.recursive ?? true, redactor);
}
