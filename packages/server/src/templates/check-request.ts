import { AppError } from "../core/errors.ts";
import { type TemplateRequest, templateName } from "../core/template.ts";
import { templateLimits } from "../core/template-limits.ts";

const { nameCharacters, descriptionCharacters, files, fileBytes, filesBytes, warmUpBytes } = templateLimits;
const { packages, packageCharacters } = templateLimits;

/** Refuses at the door what could never be made. */
export function checkTemplate(request: TemplateRequest): void {
  const { name, description = "", warmUp, files: given = [] } = request;
  if (name.length > nameCharacters || !templateName.test(name))
    throw new AppError("invalid", `a template's name is of a-z, 0-9, '.', '_' and '-', and ${nameCharacters} at most`);
  if (description.length > descriptionCharacters)
    throw new AppError("too_large", `a description has ${descriptionCharacters} characters at most`);
  if (given.length > files) throw new AppError("invalid", `at most ${files} files`, { hint: "snapshot_id" });
  if (given.some(({ data }) => data.length > fileBytes) || sum(given.map(({ data }) => data.length)) > filesBytes)
    throw new AppError("too_large", `files of ${filesBytes} bytes at most, each of ${fileBytes}`, {
      hint: "put them into a sandbox, and name a snapshot of it",
    });
  if (warmUp !== undefined && Buffer.byteLength(warmUp.code) > warmUpBytes)
    throw new AppError("too_large", `a warm-up has ${warmUpBytes} bytes at most`);
  for (const list of Object.values(request.packages ?? {}))
    if (list.length > packages || list.some((one) => one.length > packageCharacters))
      throw new AppError("invalid", `at most ${packages} packages, of ${packageCharacters} characters each`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
