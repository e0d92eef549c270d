/** Reads what a source says of itself: by the sandbox's own worker, which follows no link out of it, or by its own programs (S113). */

import { AppError } from "../core/errors.ts";
import { jsonLimits } from "../core/json-limits.ts";
import type { Builder } from "../core/layer-builder.ts";
import { parseJson } from "../core/parse-json.ts";
import { serverBuildLimits } from "./build-limits.ts";
import type { NodePackage, PythonProject } from "./build-plan.ts";

const { manifestBytes } = serverBuildLimits;
const mostNames = 200;
const mostCharacters = 1_000;

/** Names of the regular files in a folder; links are none. */
export async function topFiles({ files }: Pick<Builder, "files">, folder: string): Promise<Set<string>> {
  const rows = await files.list(folder);
  return new Set(rows.flatMap(({ name, type }) => (type === "file" ? [name] : [])));
}

/** A JSON file of the sandbox; refuses what is no JSON, or too large. */
export async function readJson({ files }: Pick<Builder, "files">, path: string, shown: string): Promise<unknown> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of files.read(path, { length: manifestBytes + 1 })) {
    pieces.push(Buffer.from(piece));
    bytes += piece.length;
  }
  if (bytes > manifestBytes) throw new AppError("too_large", `${shown} is too large (limit: ${manifestBytes} bytes)`);
  try {
    return parseJson(Buffer.concat(pieces), jsonLimits.data);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new AppError("invalid", `${shown} is not valid JSON`, { hint: "check it with a JSON parser", cause: error });
  }
}

export function asNodePackage(value: unknown): NodePackage {
  const name = text(field(value, "name")) ?? "";
  const bin = field(value, "bin");
  const main = text(field(value, "main")) ?? null;
  if (typeof bin === "string") return { name, bin: { [name.replace(/^@[^/]*\//, "")]: bin }, main };
  return { name, bin: texts(bin), main };
}

export function asPythonProject(value: unknown): PythonProject {
  const dependencies = lines(field(value, "dependencies"));
  return { name: text(field(value, "name")) ?? "", dependencies, scripts: lines(field(value, "scripts")) };
}

export function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

function text(value: unknown): string | undefined {
  const fits = typeof value === "string" && value !== "" && value.length <= mostCharacters;
  return fits && /^[^\0-\x1f\x7f]+$/.test(value) ? value : undefined;
}

/** Texts of a list; everything else in it is left out. */
function lines(value: unknown): string[] {
  return (Array.isArray(value) ? value.slice(0, mostNames) : []).flatMap((one) => text(one) ?? []);
}

function texts(value: unknown): Record<string, string> {
  const rows = typeof value === "object" && value !== null ? Object.entries(value).slice(0, mostNames) : [];
  return Object.fromEntries(rows.filter(([name, path]) => text(name) !== undefined && text(path) !== undefined));
}
