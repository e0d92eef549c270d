/** Builder of the code of a version, as deploys need it. */
import type { ChosenImage } from "../core/image-record.ts";
import type { LayerId } from "../core/layer.ts";
import type { Caller } from "../core/principal.ts";
import type { ArchiveBody, ResolvedPackage, ServerSource } from "../core/server.ts";
import type { ServerBuilder } from "./build-server.ts";
import { checkPackageSource, packageDigest } from "./sources/package-source.ts";
import { spoolArchive } from "./sources/spool-archive.ts";

export type BuiltSource = Exclude<ServerSource, { kind: "remote" }>;

interface BuildInputs {
  source: BuiltSource;
  /** SHA-256 of the archive; null for other sources. */
  archiveDigest: string | null;
  image: ChosenImage;
  command: readonly string[] | null;
}

export interface VersionBuilder {
  /** Stores an upload in a new file, unread. */
  spool(path: string, archive: ArchiveBody): Promise<{ sha256: string }>;
  /** Refuses a source that cannot be built. */
  digests(inputs: BuildInputs): Promise<{ sourceDigest: string; inputsDigest: string }>;
  /** `archive`: where the upload is stored. */
  build(
    caller: Caller,
    request: Omit<BuildInputs, "archiveDigest"> & { archive?: string },
    watch: { step(name: string): void; log(text: string): void; signal: AbortSignal },
  ): Promise<{
    layerId: LayerId;
    bytes: number;
    command: readonly string[];
    packages: readonly ResolvedPackage[];
    /** With the exact version of a package. */
    source: ServerSource;
  }>;
}

export function toVersionBuilder(builder: ServerBuilder): VersionBuilder {
  return {
    spool: (path, archive) => spoolArchive(path, archive),
    digests: async ({ source, archiveDigest, image, command }) => {
      const sourceDigest = digestOf(source, archiveDigest);
      return { sourceDigest, inputsDigest: await builder.inputsDigest({ sourceDigest, image, command }) };
    },
    build: (caller, request, watch) => builder.build(caller, request, watch),
  };
}

function digestOf(source: BuiltSource, archiveDigest: string | null): string {
  if (source.kind === "archive") return archiveDigest ?? "";
  checkPackageSource(source);
  return packageDigest(source);
}
