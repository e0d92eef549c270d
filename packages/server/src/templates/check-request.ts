import { AppError } from "../core/errors.ts";
import { type TemplateRequest, templateName } from "../core/template.ts";
import { templateLimits } from "../core/template-limits.ts";

const { nameCharacters, descriptionCharacters, files, fileBytes, filesBytes, warmUpBytes } = templateLimits;
const { packages, packageCharacters } = templateLimits;

/** Refuses at the door what could never be made. */
export function checkTemplate(request: TemplateRequest): void {
  const { name, description = "", warmUp, files: given = [] } = request;
  if (name.length > nameCharacters || !templateName.test(name))
    throw new AppError(
      "invalid",
      `a template's name must have 1 to ${nameCharacters} characters: a-z, 0-9, '.', '_' and '-'`,
    );
  if (description.length > descriptionCharacters)
    throw new AppError("too_large", `the description is too long (limit: ${descriptionCharacters} characters)`);
  if (given.length > files)
    throw new AppError("invalid", `too many files (limit: ${files})`, { hint: "use snapshot_id for more files" });
  if (given.some(({ data }) => data.length > fileBytes) || sum(given.map(({ data }) => data.length)) > filesBytes)
    throw new AppError("too_large", `the files are too large (limit: ${filesBytes} bytes, ${fileBytes} per file)`, {
      hint: "copy them into a sandbox, take a snapshot, and use snapshot_id",
    });
  if (warmUp !== undefined && Buffer.byteLength(warmUp.code) > warmUpBytes)
    throw new AppError("too_large", `the warm-up is too large (limit: ${warmUpBytes} bytes)`);
  for (const list of Object.values(request.packages ?? {}))
    if (list.length > packages || list.some((one) => one.length > packageCharacters))
      throw new AppError(
        "invalid",
        `too many packages, or a name is too long (limit: ${packages} packages, ${packageCharacters} characters)`,
      );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
