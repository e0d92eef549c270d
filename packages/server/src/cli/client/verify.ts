import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { AppError, errnoOf } from "../../core/errors.ts";
import { artifactLimits } from "../../core/limits.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";

const hex = /^[0-9a-f]{8,64}$/i;

function unreadable(path: string, error: unknown): AppError {
  return new AppError("invalid", `${path} cannot be read (${errnoOf(error) ?? "unknown"})`, { cause: error });
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
    throw new AppError("too_large", `${path} is past ${artifactLimits.contentBytes} bytes`);
  return readFile(path);
}

async function readManifest(path: string): Promise<Record<string, unknown>> {
  try {
    const found = JSON.parse((await readWhole(path)).toString());
    // As get_artifacts and `caisson artifacts --json` print it, or by itself.
    return found.manifest ?? found;
  } catch (error) {
    if (error instanceof AppError && error.code === "too_large") throw error;
    throw new AppError("invalid", `${path} is neither a SHA-256 nor a file with a manifest`, { cause: error });
  }
}

const verify: Verb = {
  summary: "check a file against its SHA-256, or against a signed manifest; ends with 0 when it is the one",
  usage: "FILE SHA256|MANIFEST",
  about: "The first eight digits of a SHA-256 are enough. A manifest is checked by the daemon that signed it.",
  words: [2, 2],
  options: { path: { type: "string", value: "PATH", help: "of the file in the manifest; its own name unless given" } },
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
  else tellLine(io, valid ? `${file} is the one` : `${file} is NOT the one: ${reason}`);
  return valid ? 0 : 1;
}

export const verifyVerbs: Record<string, Verb> = { verify };
