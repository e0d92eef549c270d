import { AppError } from "../core/errors.ts";
import type { SandboxFiles } from "../core/file.ts";
import { jsonLimits } from "../core/json-limits.ts";
import type { InstalledPackage } from "../core/package.ts";
import { parseJson } from "../core/parse-json.ts";
import { packageLimits } from "./limits.ts";

export interface Reader {
  files: Pick<SandboxFiles, "read">;
}

/** A JSON file that a program of the sandbox wrote; undefined where there is none. */
export async function readReport(sandbox: Reader, path: string): Promise<unknown> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of sandbox.files.read(path, { length: packageLimits.reportBytes })) {
      pieces.push(Buffer.from(piece));
      bytes += piece.length;
    }
    return bytes >= packageLimits.reportBytes ? undefined : parseJson(Buffer.concat(pieces), jsonLimits.data);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    if (error instanceof AppError && ["not_found", "invalid", "too_large"].includes(error.code)) return undefined;
    throw error;
  }
}

/** What `value.a.b` is, of something that may be anything. */
export function dig(value: unknown, ...names: string[]): unknown {
  let found = value;
  for (const name of names) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

/** Undefined unless it is a package that could be. */
export function asPackage(name: unknown, version: unknown, hash: unknown): InstalledPackage | undefined {
  const text = (value: unknown, most: number) =>
    typeof value === "string" && value !== "" && value.length <= most && /^[!-~]+$/.test(value) ? value : undefined;
  const { nameCharacters, versionCharacters, hashCharacters } = packageLimits;
  const [called, at] = [text(name, nameCharacters), text(version, versionCharacters)];
  if (called === undefined || at === undefined) return undefined;
  return { name: called, version: at, hash: text(hash, hashCharacters) ?? null };
}
