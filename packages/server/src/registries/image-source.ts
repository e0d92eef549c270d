import type { Descriptor } from "./documents.ts";
import type { StagedFile } from "./staging.ts";

/** Where the blobs of an image are. What comes out has the digest and size that its descriptor says. */
export interface ImageSource {
  document(descriptor: Descriptor): Promise<Buffer>;
  blob(descriptor: Descriptor): Promise<StagedFile>;
}

/** An image whose parts are all here. */
export interface FoundImage {
  /** Of its configuration: the same image has the same one, however it came and however its layers are compressed. */
  digest: string;
  /** None in a docker archive. */
  manifestDigest: string | null;
  /** What an archive calls it. */
  name?: string | null;
  config: Buffer;
  layers: StagedFile[];
}
