import { AppError } from "../core/errors.ts";
import { credentialPlaceIn, realFolder } from "../supervision/folders.ts";
import { agrees } from "./agree.ts";
import type { RunIo } from "./run.ts";
import type { BoxPlan } from "./run-options.ts";
import { visible } from "./terminal.ts";

/** Asks before an input folder with keys or tokens is copied into a sandbox. Without a terminal, a flag is required. */
export async function checkInput({ inputFolder, allowCredentials }: BoxPlan, io: RunIo): Promise<void> {
  if (inputFolder === undefined || allowCredentials) return;
  const place = await credentialPlaceIn(await realFolder(inputFolder));
  if (place === undefined) return;
  const what = `'${visible(inputFolder)}' contains credentials (${place})`;
  if (await agrees(`${what}. Copy it into the sandbox?`, io)) return;
  throw new AppError("forbidden", `cannot copy the input folder: ${what}`, {
    hint: "choose a folder without credentials, or add --allow-credentials",
  });
}
