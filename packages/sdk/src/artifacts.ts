import type { Transport } from "./transport.ts";

export interface Artifact {
  /** Relative to /workspace/output. */
  path: string;
  size_bytes: number;
  sha256: string;
}

export interface Manifest {
  version: 1;
  sandbox_id: string;
  signed_at: string;
  files: Artifact[];
  signature: string;
}

/** Files that a sandbox left in /workspace/output. */
export class Artifacts {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, sandboxPath: string) {
    this.#transport = transport;
    this.#path = `${sandboxPath}/artifacts`;
  }

  list(): Promise<Artifact[]> {
    return this.#transport.json("GET", this.#path);
  }

  read(path: string): Promise<Artifact & { content_base64: string }> {
    const names = path.split("/").map(encodeURIComponent).join("/");
    return this.#transport.json("GET", `${this.#path}/content/${names}`);
  }

  sign(): Promise<Manifest> {
    return this.#transport.json("POST", `${this.#path}/manifest`);
  }
}
