import { AppError } from "../core/errors.ts";
import type { FolderRole, NamedFolder } from "../core/folder.ts";

/** Folders that a daemon may name by id, and a check that one may be used now. */
export interface ServerFolders {
  input: readonly NamedFolder[];
  output: readonly NamedFolder[];
  check: (folder: NamedFolder, role: FolderRole) => Promise<void>;
}

/** Acts with the path of a folder that is known by its id. The daemon hears of the id alone (S22). */
export async function withFolder<T>(
  folders: ServerFolders,
  role: FolderRole,
  id: string,
  act: (path: string) => Promise<T>,
): Promise<T> {
  const folder = folders[role].find((known) => known.id === id);
  if (folder === undefined) throw noFolder(role, id);
  try {
    await folders.check(folder, role);
  } catch (cause) {
    throw new AppError("unavailable", `cannot use the ${role} folder '${id}'`, {
      hint: "the daemon's log says why",
      cause,
    });
  }
  try {
    return await act(folder.path);
  } catch (error) {
    throw error instanceof AppError ? withoutPath(error, folder) : error;
  }
}

export function noFolder(role: FolderRole, id: string): AppError {
  return new AppError("not_found", `unknown ${role} folder '${id}'`, {
    hint: `an operator lists the folders in the setting folders.${role}`,
  });
}

function withoutPath(error: AppError, { id, path }: NamedFolder): AppError {
  const hide = (text: string) => text.replaceAll(path, `'${id}'`);
  const { code, message, hint, retryAfterMs } = error;
  return new AppError(code, hide(message), {
    cause: error,
    ...(hint === undefined ? {} : { hint: hide(hint) }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
