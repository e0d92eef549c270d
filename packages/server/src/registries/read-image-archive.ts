import { ArchiveMembers } from "./archive-members.ts";
import { type Descriptor, readDockerManifest, readIndex, readLayout } from "./documents.ts";
import { chooseManifest, collectImage, findManifest } from "./find-image.ts";
import type { FoundImage, ImageSource } from "./image-source.ts";
import { checkMatches } from "./match.ts";
import type { Platform } from "./platform.ts";
import { refuseImage } from "./refuse-image.ts";
import { readStaged, type Staging } from "./staging.ts";

/** Which of the images in an archive; it may hold only one unless given. */
export interface ArchiveChoice {
  name?: string;
}

const containerdName = "io.containerd.image.name";
const refName = "org.opencontainers.image.ref.name";

/** An OCI layout in a tar archive, or what `docker save` writes. Newer ones are both: then the layout is read. */
export async function readImageArchive(
  staging: Staging,
  archive: AsyncIterable<Uint8Array>,
  platform: Platform,
  choice: ArchiveChoice = {},
): Promise<FoundImage> {
  const members = await ArchiveMembers.read(staging, archive);
  if (members.get("oci-layout") !== undefined) return readLayoutMembers(members, platform, choice);
  if (members.get("manifest.json") !== undefined) return readDockerMembers(members, choice);
  throw refuseImage("the archive is neither an OCI layout nor made by docker save");
}

async function readLayoutMembers(
  members: ArchiveMembers,
  platform: Platform,
  { name }: ArchiveChoice,
): Promise<FoundImage> {
  readLayout(await readStaged(members.require("oci-layout")));
  const { manifests } = readIndex(await readStaged(members.require("index.json")));
  const named = name === undefined ? manifests : manifests.filter((one) => isNamed(one, name));
  const names = [...new Set(named.flatMap(({ annotations }) => annotations?.[refName] ?? []))];
  if (named.length === 0) throw refuseImage(name === undefined ? "it holds none" : `it holds none named ${name}`);
  if (names.length > 1) throw severalImages(names);
  const source = layoutSource(members);
  const chosen = chooseManifest(named, platform);
  const found = await collectImage(source, await findManifest(source, chosen, platform));
  return { ...found, name: chosen.annotations?.[containerdName] ?? chosen.annotations?.[refName] ?? null };
}

function isNamed({ annotations, digest }: Descriptor, name: string): boolean {
  return digest === name || annotations?.[refName] === name || annotations?.[containerdName] === name;
}

function layoutSource(members: ArchiveMembers): ImageSource {
  const blob = async (descriptor: Descriptor) => {
    const file = members.require(`blobs/${descriptor.digest.replace(":", "/")}`);
    checkMatches(descriptor, file);
    return file;
  };
  return { blob, document: async (descriptor) => readStaged(await blob(descriptor)) };
}

async function readDockerMembers(members: ArchiveMembers, { name }: ArchiveChoice): Promise<FoundImage> {
  const images = readDockerManifest(await readStaged(members.require("manifest.json")));
  const named = name === undefined ? images : images.filter(({ RepoTags }) => RepoTags?.includes(name));
  const [image, ...others] = named;
  if (image === undefined) throw refuseImage(name === undefined ? "it holds none" : `it holds none named ${name}`);
  if (others.length > 0) throw severalImages(named.flatMap(({ RepoTags }) => RepoTags ?? []));
  const config = members.require(image.Config);
  const said = /(?:^|\/)([0-9a-f]{64})(?:\.json)?$/.exec(image.Config)?.[1];
  if (said !== undefined && config.digest !== `sha256:${said}`)
    throw refuseImage(`its configuration has the digest ${config.digest}, not sha256:${said}`);
  return {
    digest: config.digest,
    manifestDigest: null,
    name: image.RepoTags?.[0] ?? null,
    config: await readStaged(config),
    layers: image.Layers.map((layer) => members.require(layer)),
  };
}

function severalImages(names: readonly string[]) {
  return refuseImage(`it holds several, of which one is to be named: ${names.slice(0, 16).join(", ")}`);
}
