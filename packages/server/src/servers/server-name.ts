import { AppError } from "../core/errors.ts";
import { type DeployRequest, serverName } from "../core/server.ts";

/** The name that a deploy gives, or that of its package. */
export function nameOf({ name, source }: DeployRequest): string {
  const given = name ?? ("package" in source ? (source.package.split("/").at(-1) ?? "").toLowerCase() : undefined);
  if (given === undefined) throw new AppError("invalid", "the server has no name", { hint: "add a name: --name NAME" });
  if (!serverName.test(given))
    throw new AppError("invalid", `invalid name ${JSON.stringify(given).slice(0, 80)}`, {
      hint: "a name has 1 to 63 lowercase letters, digits, dots, dashes and underscores, and begins with a letter or digit",
    });
  return given;
}
