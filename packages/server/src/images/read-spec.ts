import type { Document, LineCounter, Node } from "yaml";
import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { ImageSpec } from "../core/image-spec.ts";
import { whyNotYaml } from "../lib/yaml-bounds.ts";
import { buildLimits } from "./limits.ts";

/** What stands for the machine's own root, and what paths of the API mean. */
const taken = ["host", "catalogue"];
const imageName = z
  .string()
  .max(buildLimits.nameCharacters)
  .regex(
    /^[a-z0-9][a-z0-9._/:@-]*$/,
    "a name has small letters, digits and . _ - / : @, and begins with a letter or digit",
  )
  .refine((name) => !taken.includes(name), "this name is taken");

/** As the package manager writes a package: no option, no path, no URL. */
const packageOf = (pattern: RegExp) =>
  z
    .array(
      z
        .string()
        .max(buildLimits.packageCharacters)
        .regex(pattern, "this is no name of a package, with or without its version"),
    )
    .max(buildLimits.packages)
    .default([]);
const debianPackage = /^[a-z0-9][a-z0-9+.-]+(>?=[A-Za-z0-9.+:~-]+)?$/;
const pipPackage =
  /^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,-]+\])?((===?|~=|!=|[<>]=?)[A-Za-z0-9.*+!-]+(,(===?|~=|!=|[<>]=?)[A-Za-z0-9.*+!-]+)*)?$/;
const npmPackage = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*(@[A-Za-z0-9^~.*+-]+)?$/;

/** In the tree itself: no way out of it, and nothing that a sandbox has of its own. */
const filePath = z
  .string()
  .max(1_024)
  .regex(/^\/(etc|opt|srv|usr|var)\/[^\0]+$/, "a file lies below /etc, /opt, /srv, /usr or /var")
  .refine(
    (path) =>
      path
        .split("/")
        .slice(1)
        .every((part) => !["", ".", ".."].includes(part)),
    "a path has no empty parts, and none of dots alone",
  );

const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "this is no name of a variable");
const value = z
  .string()
  .max(buildLimits.envCharacters)
  .refine((text) => !text.includes("\0"), "a value holds no NUL");

const spec = z.strictObject({
  name: imageName,
  description: z.string().max(buildLimits.descriptionCharacters).default(""),
  aliases: z.array(imageName).max(buildLimits.aliases).default([]),
  debian: packageOf(debianPackage),
  pip: packageOf(pipPackage),
  npm: packageOf(npmPackage),
  files: z
    .record(filePath, z.string().max(buildLimits.specBytes))
    .refine((files) => Object.keys(files).length <= buildLimits.files, `at most ${buildLimits.files} files`)
    .default({}),
  env: z
    .record(variable, value)
    .refine((env) => Object.keys(env).length <= buildLimits.env, `at most ${buildLimits.env} variables`)
    .default({}),
  run: z.array(z.string().min(1).max(buildLimits.runCharacters)).max(buildLimits.runs).default([]),
});

/** Refused with the line that is wrong. */
export async function readSpec(text: string): Promise<ImageSpec> {
  if (Buffer.byteLength(text) > buildLimits.specBytes)
    throw new AppError("too_large", `the specification is too large (limit: ${buildLimits.specBytes} bytes)`);
  const { default: yaml } = await import("yaml"); // few bring images
  const why = whyNotYaml(text, yaml, buildLimits.specYaml);
  if (why !== undefined) throw new AppError("invalid", `the specification is refused: ${why}`);
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, {
    schema: "core",
    strict: true,
    uniqueKeys: true,
    prettyErrors: false,
    lineCounter: lines,
  });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) throw refuse(lines.linePos(problem.pos[0]).line, problem.message);
  yaml.visit(document, {
    // A few lines of them stand for gigabytes.
    Alias: (_key, alias) => {
      throw refuse(lines.linePos(alias.range?.[0] ?? 0).line, "aliases are not taken");
    },
  });
  const parsed = spec.safeParse(document.toJS({ maxAliasCount: 0 }));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = (issue?.path ?? []).map((part) => (typeof part === "number" ? part : String(part)));
  const extra = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const where = [...path, ...extra];
  const said = issue?.code === "invalid_key" ? issue.issues[0]?.message : issue?.message;
  const what =
    extra.length > 0 ? `there is no key ${JSON.stringify(extra[0]).slice(0, 80)}; there are ${keys}` : String(said);
  throw refuse(lineOf(document, lines, where), path.length === 0 ? what : `${path.join(".").slice(0, 120)}: ${what}`);
}

const keys = Object.keys(spec.shape).join(", ");

/** The line of the key, or of the nearest thing above it that there is. */
function lineOf(document: Document, lines: LineCounter, path: readonly (string | number)[]): number {
  for (let length = path.length; length > 0; length--) {
    const part = path[length - 1];
    const parent = document.getIn(path.slice(0, length - 1), true) as
      | { items?: { key?: Node; range?: unknown }[] }
      | undefined;
    const pair = parent?.items?.find((item) => (item.key as { value?: unknown } | undefined)?.value === part);
    const node = pair?.key ?? (document.getIn(path.slice(0, length), true) as Node | undefined);
    if (node?.range != null) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

function refuse(line: number, what: string): AppError {
  return new AppError("invalid", `the specification is refused: line ${line}: ${what.slice(0, 400)}`, {
    details: { line },
  });
}
