import { AppError } from "../core/errors.ts";
import { ociLimits } from "./limits.ts";

/** Which image of which registry. */
export interface Reference {
  /** Host, and port where it is not the usual one. */
  registry: string;
  repository: string;
  /** Of tag and digest at least one; the digest counts. */
  tag: string | null;
  digest: string | null;
}

const part = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const repositoryPattern = new RegExp(`^${part}(?:/${part})*$`);
const hostPattern = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/i;
const tagPattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const digestPattern = /^sha256:[0-9a-f]{64}$/;

/** The registry of a name that names none, and its address. */
const usual = { name: "docker.io", registry: "registry-1.docker.io" } as const;

/** As everybody writes them: `debian:12` is `docker.io/library/debian:12`. */
export function parseReference(text: string): Reference {
  const wrong = (why: string) =>
    new AppError("invalid", `${JSON.stringify(text.slice(0, 200))} is not an image reference: ${why}`, {
      hint: "debian:12, ghcr.io/owner/name:tag, localhost:5000/name@sha256:…",
    });
  if (text.length > ociLimits.referenceCharacters) throw wrong("it is too long");
  const [name = "", digest, ...more] = text.split("@");
  if (more.length > 0 || (digest !== undefined && !digestPattern.test(digest))) throw wrong("the digest is invalid");
  const slash = name.indexOf("/");
  const first = slash < 0 ? "" : name.slice(0, slash);
  const hasHost = /[.:]|^localhost$/.test(first);
  const rest = hasHost ? name.slice(slash + 1) : name;
  const colon = rest.lastIndexOf(":");
  const tag = colon < 0 ? null : rest.slice(colon + 1);
  const path = colon < 0 ? rest : rest.slice(0, colon);
  if (tag !== null && !tagPattern.test(tag)) throw wrong("the tag is invalid");
  const host = hasHost ? first.toLowerCase() : usual.name;
  if (!hostPattern.test(host)) throw wrong("the registry is invalid");
  const repository = host === usual.name && !path.includes("/") ? `library/${path}` : path;
  if (!repositoryPattern.test(repository) || repository.length > 255) throw wrong("the name is invalid");
  return {
    registry: host === usual.name ? usual.registry : host,
    repository,
    tag: tag ?? (digest === undefined ? "latest" : null),
    digest: digest ?? null,
  };
}

/** Without tag and digest, as everybody names it. */
export function showRepository({ registry, repository }: Pick<Reference, "registry" | "repository">): string {
  return `${registry === usual.registry ? usual.name : registry}/${repository}`;
}

/** The same text for all ways to write one reference: a tag beside a digest does not count. */
export function showReference(reference: Reference): string {
  const { tag, digest } = reference;
  return `${showRepository(reference)}${digest === null ? `:${tag}` : `@${digest}`}`;
}
