import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { AppError, errnoOf } from "../../core/errors.ts";
import { artifactLimits } from "../../sandboxes/limits.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";

const hex = /^[0-9a-f]{8,64}$/i;

function unreadable(path: string, error: unknown): AppError {
  return new AppError("invalid", `cannot read '${path}' (${errnoOf(error) ?? "unknown"})`, { cause: error });
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const piece of createReadStream(path)) hash.update(piece);
  } catch (error) {
    throw unreadable(path, error);
  }
  return hash.digest("hex");
}

async function readWhole(path: string): Promise<Buffer> {
  const { size } = await stat(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if (size > artifactLimits.contentBytes)
    throw new AppError("too_large", `'${path}' is larger than ${artifactLimits.contentBytes} bytes`);
  return readFile(path);
}

async function readManifest(path: string): Promise<Record<string, unknown>> {
  try {
    const found = JSON.parse((await readWhole(path)).toString());
    // Either the manifest, or the output of get_artifacts or `caisson artifacts --json` that contains it.
    return found.manifest ?? found;
  } catch (error) {
    if (error instanceof AppError && error.code === "too_large") throw error;
    throw new AppError("invalid", `'${path}' is neither a SHA-256 nor a file with a manifest`, { cause: error });
  }
}

const verify: Verb = {
  summary: "check a file against a SHA-256 or a signed manifest; exits with 0 if it matches",
  usage: "FILE SHA256|MANIFEST",
  about: "The first eight digits of a SHA-256 are enough. The daemon that signed a manifest checks it.",
  words: [2, 2],
  options: { path: { type: "string", value: "PATH", help: "path of the file in the manifest (default: its name)" } },
  alone: async ({ words: [file = "", expected = ""], io, json }) => {
    if (!hex.test(expected)) return undefined;
    const sha256 = await hashOf(file);
    const valid = sha256.startsWith(expected.toLowerCase());
    return tell({ io, json }, file, valid, valid ? null : `its SHA-256 is ${sha256}`);
  },
  run: async ({ caisson, words: [file = "", expected = ""], options, io, json }) => {
    const manifest = await readManifest(expected);
    const path = options.text("path") ?? basename(file);
    const content_base64 = (await readWhole(file)).toString("base64");
    const { valid, reason } = await caisson.artifacts.verify({ manifest, path, content_base64 });
    return tell({ io, json }, file, valid, reason);
  },
};

function tell(
  { io, json }: Pick<VerbCall, "io" | "json">,
  file: string,
  valid: boolean,
  reason: string | null,
): number {
  if (json) tellJson(io, { valid, reason });
  else tellLine(io, valid ? `${file}: matches` : `${file}: does NOT match: ${reason}`);
  return valid ? 0 : 1;
}

export const verifyVerbs: Record<string, Verb> = { verify };
