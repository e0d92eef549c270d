import type { ResolvedPackage, ServerSource, ServerVersion, VersionDifference } from "../core/server.ts";

/** Fields of a version that are compared, as people read them. */
const fields = {
  source: ({ source }) => sourceText(source),
  "source digest": ({ sourceDigest }) => sourceDigest,
  image: ({ image }) => image?.name ?? "",
  command: ({ command }) => command.join(" "),
  transport: ({ contact }) => contact?.transport ?? "",
  protocol: ({ contact }) => contact?.protocolVersion ?? "",
  path: ({ contact }) => contact?.path ?? "",
  tools: ({ contact }) => String(contact?.tools ?? ""),
  "deployed by": ({ createdBy }) => createdBy,
  held: ({ held }) => (held ? "yes" : "no"),
} satisfies Record<string, (version: ServerVersion) => string>;

/** Lists what is different in the second version: its source, how it is spoken to, and each of its packages. */
export function differences(from: ServerVersion, to: ServerVersion): VersionDifference[] {
  const plain = Object.entries(fields).map(([field, show]) => ({ field, from: show(from), to: show(to) }));
  const [before, after] = [packagesOf(from), packagesOf(to)];
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  const packages = names.map((field) => ({ field, from: before.get(field) ?? "", to: after.get(field) ?? "" }));
  return [...plain, ...packages].filter((one) => one.from !== one.to);
}

function sourceText(source: ServerSource): string {
  switch (source.kind) {
    case "archive":
      return "archive";
    case "remote":
      return source.url;
    default:
      return `${source.kind}:${source.package}@${source.version}`;
  }
}

function packagesOf({ packages }: ServerVersion): Map<string, string> {
  const show = ({ version, sha256 }: ResolvedPackage) => (sha256 === null ? version : `${version} (${sha256})`);
  return new Map(packages.map((one) => [`${one.manager} ${one.name}`, show(one)]));
}
