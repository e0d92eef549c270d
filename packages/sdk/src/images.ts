import type { FileBody } from "./files.ts";
import { type LiveOptions, readLive } from "./live.ts";
import type { Transport } from "./transport.ts";

export interface ImageInfo {
  id: string;
  name: string;
  /** Other names it is started by. */
  aliases: string[];
  description: string;
  source: "catalogue" | "spec" | "oci";
  /** Digest of its specification or OCI manifest. */
  digest: string;
  state: "building" | "ready" | "failed";
  /** The one under way, or the one that failed. */
  step: string | null;
  error: string | null;
  bytes: number;
  env_names: string[];
  workdir: string | null;
  user: string | null;
  entrypoint: string[];
  cmd: string[];
  created_at: string;
  created_by: string;
}

export interface CatalogueEntry {
  name: string;
  aliases: string[];
  description: string;
  debian: string[];
  pip: string[];
  npm: string[];
  imported: boolean;
  /** The YAML that it is made from. */
  spec: string;
}

/** A name of the catalogue, YAML of your own, or an image of a registry with a secret that holds USER:PASSWORD for it. */
export type ImportImage =
  | { catalogue: string }
  | { spec: string }
  | { reference: string; name?: string; credentials?: string };

export interface LoadImage {
  /** Name of the image. Default: its name in the archive. */
  name?: string;
  /** Which of several images in the archive. */
  image?: string;
}

export type ImageLogMessage =
  | { type: "step"; step: string; at: number; of: number }
  | { type: "log"; data: string }
  | { type: "end"; state: ImageInfo["state"]; step: string | null; error: string | null };

const path = "/api/v1/images";

/** Read-only roots that sandboxes start from. */
export class Images {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(): Promise<ImageInfo[]> {
    return this.#transport.json("GET", path);
  }

  catalogue(): Promise<CatalogueEntry[]> {
    return this.#transport.json("GET", `${path}/catalogue`);
  }

  /** Answers at once, also while it is being made: `log` tells how far it is. */
  import(what: ImportImage): Promise<ImageInfo> {
    return this.#transport.json("POST", path, { json: what });
  }

  /** An OCI layout or a docker archive, in tar; answers when all of it is there, and while it is being made. */
  load(archive: FileBody, query: LoadImage = {}): Promise<ImageInfo> {
    const headers = { "content-type": "application/x-tar" };
    return this.#transport.json("POST", `${path}/archive`, {
      body: archive,
      query: { ...query },
      headers,
      timeoutMs: null,
    });
  }

  /** By id, name or alias. */
  get(image: string): Promise<ImageInfo> {
    return this.#transport.json("GET", this.#one(image));
  }

  /** All that is said while it is made, and how it ended as the last. */
  log(image: string, options: LiveOptions = {}): AsyncGenerator<ImageLogMessage, void> {
    return readLive<ImageLogMessage>(this.#transport, "GET", `${this.#one(image)}/log`, options, "end");
  }

  async delete(image: string): Promise<void> {
    await this.#transport.json("DELETE", this.#one(image));
  }

  #one(image: string): string {
    return `${path}/${encodeURIComponent(image)}`;
  }
}
