import type { Artifact, Manifest } from "./artifacts.ts";
import type { Transport } from "./transport.ts";

export interface KeptArtifactsInfo {
  sandbox_id: string;
  file_count: number;
  total_size: number;
  kept_at: string;
  expires_at: string;
  created_by: string;
}

const path = "/api/v1/artifacts";

/** Files that destroyed sandboxes left in /workspace/output, as long as they are kept. */
export class KeptArtifacts {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Newest first. */
  list(options: { limit?: number; cursor?: string } = {}): Promise<KeptArtifactsInfo[]> {
    return this.#transport.json("GET", path, { query: { ...options } });
  }

  files(sandboxId: string): Promise<Artifact[]> {
    return this.#transport.json("GET", `${path}/${encodeURIComponent(sandboxId)}`);
  }

  async read(sandboxId: string, file: string): Promise<ReadableStream<Uint8Array>> {
    const names = file.split("/").map(encodeURIComponent).join("/");
    const response = await this.#transport.send("GET", `${path}/${encodeURIComponent(sandboxId)}/content/${names}`);
    return response.body ?? new ReadableStream();
  }

  async delete(sandboxId: string): Promise<void> {
    await this.#transport.json("DELETE", `${path}/${encodeURIComponent(sandboxId)}`);
  }

  /** Verifies that the daemon has signed a manifest, and that a file is the one it names. */
  verify(asked: {
    manifest: Manifest | Record<string, unknown>;
    path?: string;
    content_base64?: string;
  }): Promise<{ valid: boolean; reason: string | null }> {
    return this.#transport.json("POST", "/api/v1/artifacts/verify", { json: asked });
  }

  /** Returns the public key of the manifests' signatures, in PEM; it is no secret. */
  signingKey(): Promise<{ algorithm: "Ed25519"; public_key: string }> {
    return this.#transport.json("GET", "/api/v1/signing-key");
  }
}
