import type { Artifact } from "./artifacts.ts";
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

/** What destroyed sandboxes left in /workspace/output, as long as it is kept. */
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
}
