import { open } from "node:fs/promises";
import { AppError, errnoOf } from "../../core/errors.ts";
import { languageOf, languages } from "../../core/language.ts";
import type { Finding } from "../../core/validation.ts";
import { validationLimits } from "../../validation/limits.ts";
import { visible } from "../terminal.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb } from "./verb.ts";

const validate: Verb = {
  summary: "check code without running it: syntax, missing imports, dangerous patterns",
  usage: "FILE",
  about:
    "Exits with 1 if the code cannot run or --strict refuses it. With --json, `fixed_code` is the code with its missing imports.",
  words: [1, 1],
  options: {
    language: { type: "string", value: "NAME", help: `${languages.join(", ")} (default: by the file's extension)` },
    "no-auto-fix": { type: "boolean", help: "do not add missing imports" },
    strict: { type: "boolean", help: "apply the policy strict, with its list of allowed imports" },
  },
  run: async ({ caisson, words: [path = ""], options, json, io }) => {
    const language = options.text("language") ?? languageOf(path);
    if (language === undefined)
      throw new AppError("invalid", `unknown language of '${path}'`, { hint: `--language ${languages.join("|")}` });
    const policy = options.flag("strict") ? "strict" : "advise";
    const asked = { code: await readCode(path), language, policy, auto_fix: !options.flag("no-auto-fix") };
    const { result } = await caisson.tools.call("validate_code", asked);
    const report = result as unknown as Report;
    if (json) tellJson(io, report);
    else for (const finding of report.findings) tellLine(io, visible(line(path, finding)));
    return report.valid && !(policy === "strict" && report.refused) ? 0 : 1;
  },
};

interface Report {
  valid: boolean;
  refused: boolean;
  findings: Finding[];
}

const line = (path: string, { line, column, severity, rule, message, fix }: Finding) =>
  `${path}:${line}:${column}: ${severity} ${rule}: ${message}${fix === undefined ? "" : ` (${fix})`}`;

/** Reads at most as many bytes as can be checked. */
async function readCode(path: string): Promise<string> {
  await using file = await open(path).catch((error: unknown) => {
    throw new AppError("not_found", `cannot read '${path}' (${errnoOf(error)})`, { cause: error });
  });
  const buffer = Buffer.alloc(validationLimits.codeBytes + 1);
  let size = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, size, buffer.length - size);
    size += bytesRead;
    if (bytesRead === 0 || size === buffer.length) break;
  }
  if (size === buffer.length)
    throw new AppError("too_large", `'${path}' is larger than ${validationLimits.codeBytes} bytes`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(buffer.subarray(0, size));
  } catch {
    throw new AppError("invalid", `'${path}' is not UTF-8 text`);
  }
}

export const validationVerbs: Record<string, Verb> = { validate };
