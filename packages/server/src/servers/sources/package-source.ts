import { createHash } from "node:crypto";
import { AppError } from "../../core/errors.ts";
import type { ServerSource } from "../../core/server.ts";

export type PackageSource = Extract<ServerSource, { kind: "npm" | "pypi" }>;

const most = 214;
const patterns = {
  npm: {
    name: /^(?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/,
    version: /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/,
    example: "npm:@scope/name@1.2.3",
  },
  pypi: {
    name: /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/,
    version: /^\d[A-Za-z0-9.!+_-]*$/,
    example: "pypi:name@1.2.3",
  },
} as const;

/** Refuses all but a name and an exact version, or no version (""): no range, tag, option, path or URL. */
export function checkPackageSource(source: PackageSource): void {
  const { kind, package: name, version } = source;
  const { name: namePattern, version: versionPattern, example } = patterns[kind];
  const hint = `name an exact version, such as ${example}, or none to get the newest`;
  if (name.length > most || !namePattern.test(name))
    throw new AppError("invalid", `invalid package name ${JSON.stringify(name).slice(0, 80)}`, { hint });
  if (version !== "" && (version.length > most || !versionPattern.test(version)))
    throw new AppError("invalid", `invalid version ${JSON.stringify(version).slice(0, 80)} of ${name}`, { hint });
}

/** Words for the package manager. */
export function packageWord({ kind, package: name, version }: PackageSource): string {
  if (version === "") return name;
  return kind === "npm" ? `${name}@${version}` : `${name}==${version}`;
}

/** Digest in place of an archive's. */
export function packageDigest({ kind, package: name, version }: PackageSource): string {
  return createHash("sha256")
    .update(JSON.stringify([kind, name, version]))
    .digest("hex");
}

/** The same source at the version that a build installed; refuses what is no version. */
export function resolved(source: PackageSource, version: unknown): PackageSource {
  if (typeof version !== "string" || version === "")
    throw new AppError("invalid", `cannot tell which version of ${source.package} was installed`);
  const exact = { ...source, version };
  checkPackageSource(exact);
  return exact;
}
