import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { inflate } from "../tar/inflate.ts";
import { type TarEntry, TarReader } from "../tar/tar-reader.ts";
import { ociLimits } from "./limits.ts";
import { inLayer, refuseImage } from "./refuse-image.ts";

export interface LayerEntry {
  entry: TarEntry;
  /** Of this entry in its layer. */
  number: number;
  /** Bytes of a file, while it is the entry at hand; undefined at its end. */
  read: () => Promise<Buffer | undefined>;
}

/** A layer on this disk: a tar archive, plain or compressed. It is read twice, once to see what it holds. */
export class LayerReader {
  readonly #path: string;
  readonly #layer: number;
  /** Of the layer, unpacked. */
  bytes = 0;

  constructor(path: string, layer: number) {
    this.#path = path;
    this.#layer = layer;
  }

  async *entries(): AsyncGenerator<LayerEntry> {
    yield* this.#entries(inflated(this.#path, ociLimits.unpackedBytes));
  }

  /** As entries, and at their end the digest of the unpacked layer is what the image's configuration says. */
  async *verified(diffId: string, mostBytes: number): AsyncGenerator<LayerEntry> {
    const hash = createHash("sha256");
    const layer = this;
    async function* hashed(): AsyncGenerator<Uint8Array> {
      for await (const piece of inflated(layer.#path, mostBytes)) {
        hash.update(piece);
        layer.bytes += piece.length;
        yield piece;
      }
    }
    yield* this.#entries(hashed());
    if (`sha256:${hash.digest("hex")}` !== diffId)
      throw inLayer(refuseImage(`it unpacks to other bytes than ${diffId}`), this.#layer);
  }

  async *#entries(source: AsyncIterable<Uint8Array>): AsyncGenerator<LayerEntry> {
    const reader = new TarReader(source, { depth: ociLimits.depth, image: true });
    const read = () => reader.read();
    try {
      for (let number = 0; ; number++) {
        const entry = await reader.next();
        if (entry === undefined) return;
        yield { entry, number, read };
      }
    } catch (error) {
      throw inLayer(error, this.#layer);
    } finally {
      await reader.close();
    }
  }
}

function inflated(path: string, bytes: number): AsyncIterable<Uint8Array> {
  return inflate(createReadStream(path, { highWaterMark: 256 * 1024 }), { ratio: ociLimits.ratio, bytes, zstd: true });
}
