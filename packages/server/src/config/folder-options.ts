import { AppError } from "../core/errors.ts";
import { type FolderRole, folderId, type NamedFolder } from "../core/folder.ts";
import type { Configuration } from "./config.ts";
import { configLimits } from "./limits.ts";

/** Parses `folders.input` or `folders.output`. The folders themselves are checked when they are used. */
export function folderOptions(
  { settings, origins }: Pick<Configuration, "settings" | "origins">,
  role: FolderRole,
): NamedFolder[] {
  const name = `folders.${role}` as const;
  const place = `${origins[name]}: ${name}`;
  const folders = settings[name].map((text): NamedFolder => {
    const at = text.indexOf("=");
    const folder = { id: text.slice(0, at), path: text.slice(at + 1) };
    if (at >= 0 && folderId.test(folder.id)) return folder;
    throw new AppError("invalid", `${place}: '${text.slice(0, configLimits.shownCharacters)}' is not NAME=PATH`, {
      hint: "NAME has 1 to 32 lowercase letters, digits, - and _, such as data=/srv/data",
    });
  });
  const twice = folders.find(({ id }, at) => folders.findIndex((other) => other.id === id) !== at);
  if (twice !== undefined) throw new AppError("invalid", `${place}: duplicate folder '${twice.id}'`);
  if (folders.length > configLimits.folders)
    throw new AppError("invalid", `${place}: too many folders (limit: ${configLimits.folders})`);
  return folders;
}
