import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import type { Argv } from "../core/host-access.ts";
import { matchAt, matchPattern, type Pattern, pathIn } from "./pattern.ts";

/** Where a pattern has a path with a wildcard, a link below it does not lead the program elsewhere: where it ends must match too. */
export async function checkArguments(rule: Pattern, argv: Argv): Promise<void> {
  const guessed = matchPattern(rule, argv, "strict");
  if (guessed === undefined) throw new AppError("forbidden", "the command does not match the pattern that allows it");
  for (const index of guessed) {
    const word = argv[index] ?? "";
    const at = pathIn(word) ?? 0;
    if (matchAt(rule, index, word.slice(0, at) + (await realOf(word.slice(at))))) continue;
    throw new AppError(
      "forbidden",
      `the pattern '${rule.text}' does not cover the path that ${word.slice(0, 200)} links to`,
      {
        hint: "a pattern must name the real path, without symbolic links",
      },
    );
  }
}

/** Of what is not there yet, where it would be. */
async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    const isLink = await lstat(path).then(
      () => true,
      () => false,
    );
    if (errnoOf(cause) !== "ENOENT" || isLink || path === "/")
      throw new AppError("forbidden", `cannot resolve ${path.slice(0, 200)} (${errnoOf(cause)})`, {
        cause,
      });
    return join(await realOf(dirname(path)), basename(path));
  }
}
