import { open } from "node:fs/promises";
import { AppError } from "../../core/errors.ts";
import { languageOf, languages } from "../../core/language.ts";
import type { Finding } from "../../core/validation.ts";
import { validationLimits } from "../../core/validation-limits.ts";
import { visible } from "../terminal.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb } from "./verb.ts";

const validate: Verb = {
  summary: "check code without running it: syntax, missing imports, dangerous patterns",
  usage: "FILE",
  about:
    "Ends with 1 when it cannot run, or when policy strict refuses it. With --json, `fixed_code` has the imports that it lacks.",
  words: [1, 1],
  options: {
    language: { type: "string", value: "NAME", help: `${languages.join(", ")}; by the file's name unless given` },
    "no-auto-fix": { type: "boolean", help: "leave missing imports missing" },
    strict: { type: "boolean", help: "by policy strict, with its list of imports" },
  },
  run: async ({ caisson, words: [path = ""], options, json, io }) => {
    const language = options.text("language") ?? languageOf(path);
    if (language === undefined)
      throw new AppError("invalid", `${path} does not say its language`, { hint: `--language ${languages.join("|")}` });
    const policy = options.flag("strict") ? "strict" : "advise";
    const asked = { code: await readCode(path), language, policy, auto_fix: !options.flag("no-auto-fix") };
    const { result } = await caisson.tools.call("validate_code", asked);
    const told = result as unknown as Told;
    if (json) tellJson(io, told);
    else for (const finding of told.findings) tellLine(io, visible(line(path, finding)));
    return told.valid && !(policy === "strict" && told.refused) ? 0 : 1;
  },
};

interface Told {
  valid: boolean;
  refused: boolean;
  findings: Finding[];
}

const line = (path: string, { line, column, severity, rule, message, fix }: Finding) =>
  `${path}:${line}:${column}: ${severity} ${rule}: ${message}${fix === undefined ? "" : ` (${fix})`}`;

/** No more of it than can be checked. */
async function readCode(path: string): Promise<string> {
  await using file = await open(path).catch((error: unknown) => {
    throw new AppError("not_found", `${path} cannot be read`, { cause: error });
  });
  const buffer = Buffer.alloc(validationLimits.codeBytes + 1);
  let size = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, size, buffer.length - size);
    size += bytesRead;
    if (bytesRead === 0 || size === buffer.length) break;
  }
  if (size === buffer.length)
    throw new AppError("too_large", `${path} has more than ${validationLimits.codeBytes} bytes`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(buffer.subarray(0, size));
  } catch {
    throw new AppError("invalid", `${path} is not UTF-8`);
  }
}

export const validationVerbs: Record<string, Verb> = { validate };
