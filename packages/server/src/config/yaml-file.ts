import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { Document, LineCounter, Node, Pair } from "yaml";
import { AppError, errnoOf } from "../core/errors.ts";
import { configLimits } from "./limits.ts";

/** One key of the file with its value, nested keys joined by dots. */
export interface YamlEntry {
  key: string;
  value: unknown;
  /** `FILE:LINE`, for errors. */
  place: string;
}

async function readBounded(path: string): Promise<string> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // a FIFO must not block the start
  const info = await file.stat();
  if (!info.isFile()) throw new AppError("invalid", `${path}: not a regular file`);
  const buffer = Buffer.alloc(configLimits.fileBytes + 1);
  let size = 0;
  while (size < buffer.length) {
    const { bytesRead } = await file.read(buffer, size, buffer.length - size);
    if (bytesRead === 0) break;
    size += bytesRead;
  }
  if (size > configLimits.fileBytes)
    throw new AppError("too_large", `${path}: larger than ${configLimits.fileBytes} bytes`);
  return buffer.toString("utf8", 0, size);
}

/** The text of the file; undefined if the file does not exist and need not. */
async function readText(path: string, mustExist: boolean): Promise<string | undefined> {
  try {
    return await readBounded(path);
  } catch (error) {
    const code = errnoOf(error);
    if (error instanceof AppError || code === undefined) throw error;
    if ((code === "ENOENT" || code === "ENOTDIR") && !mustExist) return undefined;
    throw new AppError("invalid", `cannot read the configuration ${path}: ${code}`, { cause: error });
  }
}

/** The keys of caisson.yaml in their order, each with its line. Anchors, aliases, tags and repeated keys are refused. */
export async function readYamlFile(path: string, mustExist: boolean): Promise<YamlEntry[]> {
  const text = await readText(path, mustExist);
  if (text === undefined) return [];
  // Loaded on demand: few starts have a file, and the parser is large.
  const { default: yaml } = await import("yaml");
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, {
    lineCounter: lines,
    strict: true,
    uniqueKeys: true,
    prettyErrors: false,
  });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined)
    throw new AppError("invalid", `${path}:${lines.linePos(problem.pos[0]).line}: ${problem.message}`);
  yaml.visit(document, {
    Alias: (_key, alias) => {
      throw new AppError("invalid", `${path}:${lines.linePos(alias.range?.[0] ?? 0).line}: aliases are not supported`);
    },
  });
  return walk(yaml, document, lines, path);
}

function walk(yaml: typeof import("yaml"), document: Document, lines: LineCounter, path: string): YamlEntry[] {
  const entries: YamlEntry[] = [];
  const placeOf = (node: Node | null | undefined) => `${path}:${lines.linePos(node?.range?.[0] ?? 0).line}`;
  const visit = (pairs: readonly Pair[], prefix: string) => {
    for (const { key, value } of pairs) {
      const keyNode = yaml.isNode(key) ? key : undefined;
      const place = placeOf(keyNode);
      if (!yaml.isScalar(key) || typeof key.value !== "string")
        throw new AppError("invalid", `${place}: a key must be a string`);
      const name = prefix + key.value;
      if (yaml.isMap(value) && value.items.length > 0) visit(value.items as Pair[], `${name}.`);
      else entries.push({ key: name, value: yaml.isNode(value) ? value.toJS(document) : value, place });
    }
  };
  const top = document.contents;
  if (top === null) return entries;
  if (!yaml.isMap(top)) throw new AppError("invalid", `${placeOf(top)}: expected one setting per line, as KEY: VALUE`);
  visit(top.items as Pair[], "");
  return entries;
}
