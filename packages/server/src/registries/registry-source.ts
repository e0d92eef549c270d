import { createHash } from "node:crypto";
import { AppError } from "../core/errors.ts";
import type { Descriptor } from "./documents.ts";
import type { ImageSource } from "./image-source.ts";
import { ociLimits, registryLimits } from "./limits.ts";
import { checkMatches } from "./match.ts";
import { indexTypes, manifestTypes } from "./media-types.ts";
import { livelyPieces, readBounded } from "./read-bounded.ts";
import type { Reference } from "./reference.ts";
import { refuseImage } from "./refuse-image.ts";
import type { RegistryClient } from "./registry-client.ts";
import type { StagedFile, StagedWriter, Staging } from "./staging.ts";

const documents = [...indexTypes, ...manifestTypes];

/** An image of a registry. What it sends is believed when it has its digest. */
export class RegistrySource implements ImageSource {
  readonly #client: RegistryClient;
  readonly #staging: Staging;
  readonly #manifests = new Map<string, Buffer>();
  readonly #blobs = new Map<string, StagedFile>();

  constructor(client: RegistryClient, staging: Staging) {
    this.#client = client;
    this.#staging = staging;
  }

  /** What a reference names: an index or a manifest. */
  async start({ tag, digest }: Reference): Promise<Descriptor> {
    const { bytes, mediaType } = await this.#manifest(digest ?? tag ?? "");
    const found = { mediaType, digest: digestOf(bytes), size: bytes.length };
    if (digest !== null) checkMatches({ ...found, digest }, { ...found, bytes: bytes.length });
    this.#manifests.set(found.digest, bytes);
    return found;
  }

  async document(descriptor: Descriptor): Promise<Buffer> {
    if (descriptor.size > ociLimits.documentBytes)
      throw refuseImage(`a document of it is larger than ${ociLimits.documentBytes} bytes`);
    const bytes = this.#manifests.get(descriptor.digest) ?? (await this.#fetchDocument(descriptor));
    checkMatches(descriptor, { digest: digestOf(bytes), bytes: bytes.length });
    return bytes;
  }

  async #fetchDocument({ mediaType, digest }: Descriptor): Promise<Buffer> {
    if (documents.includes(mediaType)) return (await this.#manifest(digest)).bytes;
    const { body } = await this.#client.get({ path: `blobs/${digest}`, headers: {}, mayRedirect: true });
    return readBounded(body, ociLimits.documentBytes);
  }

  async #manifest(name: string): Promise<{ bytes: Buffer; mediaType: string }> {
    const headers = { Accept: documents.join(", ") };
    const answer = await this.#client.get({ path: `manifests/${name}`, headers, mayRedirect: false });
    const told =
      String(answer.headers["content-type"] ?? "")
        .split(";")[0]
        ?.trim() ?? "";
    return { bytes: await readBounded(answer.body, ociLimits.documentBytes), mediaType: told };
  }

  /** Goes on where it was cut off. */
  async blob(descriptor: Descriptor): Promise<StagedFile> {
    const there = this.#blobs.get(descriptor.digest);
    if (there !== undefined) return there;
    await using writer = await this.#staging.create(descriptor.size);
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#rest(descriptor, writer);
        break;
      } catch (error) {
        const isPassing = error instanceof AppError && (error.code === "unavailable" || error.code === "timeout");
        if (!isPassing || attempt >= registryLimits.tries) throw error;
        await this.#client.pause(attempt);
      }
    }
    const file = writer.finish();
    checkMatches(descriptor, file);
    this.#blobs.set(descriptor.digest, file);
    return file;
  }

  async #rest({ digest, size }: Descriptor, writer: StagedWriter): Promise<void> {
    if (writer.bytes === size && size > 0) return;
    const from = writer.bytes;
    const headers: Record<string, string> = from === 0 ? {} : { Range: `bytes=${from}-` };
    const {
      status,
      headers: said,
      body,
    } = await this.#client.get({ path: `blobs/${digest}`, headers, mayRedirect: true });
    const isRest = status === 206 && String(said["content-range"]).startsWith(`bytes ${from}-`);
    let skip = isRest ? 0 : from; // whoever knows no ranges begins anew
    if (status === 206 && !isRest) {
      body.destroy();
      throw refuseImage("the registry sends another part than it was asked for");
    }
    for await (const piece of livelyPieces(body)) {
      const wanted = piece.subarray(skip);
      skip = Math.max(0, skip - piece.length);
      if (wanted.length > 0) await writer.write(wanted);
    }
  }
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
