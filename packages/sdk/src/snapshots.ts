import type { Transport } from "./transport.ts";

export interface SnapshotInfo {
  id: string;
  sandbox_id: string;
  description: string;
  timestamp: string;
  file_count: number;
  folder_count: number;
  link_count: number;
  total_size: number;
  /** Bytes by which the store grew. */
  added_size: number;
  skipped: number;
  unreadable: number;
  changed: number;
  created_by: string;
}

export interface SnapshotDifference {
  path: string;
  type: "file" | "directory" | "link" | "hard-link" | "unreadable";
  size: number;
  mode: string;
  sha256: string | null;
}

export interface SnapshotDiff {
  created: SnapshotDifference[];
  modified: SnapshotDifference[];
  deleted: SnapshotDifference[];
  truncated: boolean;
}

export interface SnapshotFile extends SnapshotDifference {
  mtime: string | null;
  target: string | null;
}

export interface Restored {
  deleted: number;
  written: number;
  /** Entries whose bytes were right, but not mode or time. */
  changed: number;
  written_size: number;
}

interface Page {
  limit?: number;
  cursor?: string;
}

/** Snapshots of one workspace. */
export class SandboxSnapshots {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, sandboxPath: string) {
    this.#transport = transport;
    this.#path = `${sandboxPath}/snapshots`;
  }

  create(description?: string): Promise<SnapshotInfo> {
    const json = description === undefined ? {} : { description };
    return this.#transport.json("POST", this.#path, { json, timeoutMs: null });
  }

  list(page: Page = {}): Promise<SnapshotInfo[]> {
    return this.#transport.json("GET", this.#path, { query: { ...page } });
  }

  /** Makes the workspace what it was: extra files go, changed and missing ones come back. */
  restore(id: string): Promise<Restored> {
    return this.#transport.json("POST", `${this.#path}/${encodeURIComponent(id)}/restore`, { timeoutMs: null });
  }

  /** Returns the changes in the workspace since the snapshot. */
  diff(id: string): Promise<SnapshotDiff> {
    return this.#transport.json("GET", `${this.#path}/${encodeURIComponent(id)}/diff`, { timeoutMs: null });
  }
}

/** All snapshots of the namespace, also of sandboxes that are gone. */
export class Snapshots {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(options: Page & { sandbox_id?: string } = {}): Promise<SnapshotInfo[]> {
    return this.#transport.json("GET", "/api/v1/snapshots", { query: { ...options } });
  }

  get(id: string): Promise<SnapshotInfo> {
    return this.#transport.json("GET", one(id));
  }

  files(id: string, page: Page = {}): Promise<SnapshotFile[]> {
    return this.#transport.json("GET", `${one(id)}/files`, { query: { ...page } });
  }

  /** A file as it was when the snapshot was taken. */
  async read(id: string, path: string): Promise<ReadableStream<Uint8Array>> {
    const names = path.split("/").map(encodeURIComponent).join("/");
    const response = await this.#transport.send("GET", `${one(id)}/content/${names}`);
    return response.body ?? new ReadableStream();
  }

  /** Returns the differences to another snapshot. */
  diff(id: string, other: string): Promise<SnapshotDiff> {
    return this.#transport.json("GET", `${one(id)}/diff`, { query: { with: other } });
  }

  async delete(id: string): Promise<void> {
    await this.#transport.json("DELETE", one(id));
  }
}

function one(id: string): string {
  return `/api/v1/snapshots/${encodeURIComponent(id)}`;
}
