import { AppError } from "../core/errors.ts";
import type { SandboxFiles } from "../core/file.ts";
import { shownPath, type TreeEntry } from "../core/tree.ts";

/** Removes what an older version brought and the one that is there now has not. Folders go once they are empty. */
export async function removeFormer(
  files: SandboxFiles,
  folder: string,
  { former, current }: Record<"former" | "current", readonly TreeEntry[]>,
): Promise<void> {
  const stays = new Set(current.map(({ path }) => path));
  const gone = former.filter(({ path }) => !stays.has(path));
  // What is in a folder comes after it.
  for (const { path } of gone.toReversed())
    await files.remove(`${folder}/${shownPath(path)}`).catch((error: unknown) => {
      if (!(error instanceof AppError) || !["not_found", "conflict", "invalid"].includes(error.code)) throw error;
    });
}
