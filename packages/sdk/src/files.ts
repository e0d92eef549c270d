import { type LiveOptions, readLive } from "./live.ts";
import type { Transport } from "./transport.ts";

export interface FileInfo {
  name: string;
  type: "file" | "directory" | "link" | "other";
  size: number;
  /** Permission bits, in octal. */
  mode: string;
  modified_at: string;
  /** Target of a link. */
  target?: string;
}

export interface FileEvent {
  /** `overflow`: more happened than is told, so look again. */
  type: "created" | "changed" | "deleted" | "moved" | "overflow";
  path: string;
  /** Former path, for `moved`. */
  from?: string;
}

export interface SearchOptions {
  path?: string;
  /** A glob. */
  name?: string;
  /** Text that a line holds. */
  text?: string;
  ignore_case?: boolean;
  binary?: boolean;
  limit?: number;
}

export interface SearchResult {
  matches: { path: string; type: FileInfo["type"]; line?: number; column?: number; text?: string }[];
  files_read: number;
  truncated: boolean;
}

export interface SignedUrl {
  url: string;
  expires_at: string;
}

export type FileBody = string | Uint8Array | Blob | ReadableStream<Uint8Array>;

/** Files of one sandbox. Paths are relative to /workspace, or absolute in /workspace, /home/user, /tmp or /dev/shm. */
export class Files {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, sandboxPath: string) {
    this.#transport = transport;
    this.#path = sandboxPath;
  }

  async write(path: string, body: FileBody, options: { mode?: string } = {}): Promise<void> {
    const headers = { "content-type": "application/octet-stream" };
    await this.#transport.json("PUT", this.#file(path), { body, headers, query: { ...options }, timeoutMs: null });
  }

  /** Its bytes as they come; of a part of it where `length` bytes from `offset` on are asked for. */
  async read(path: string, part?: { offset: number; length?: number }): Promise<ReadableStream<Uint8Array>> {
    const headers: Record<string, string> = {};
    if (part !== undefined) {
      const last = part.length === undefined ? "" : part.offset + part.length - 1;
      headers.range = `bytes=${part.offset}-${last}`;
    }
    const response = await this.#transport.send("GET", this.#file(path), { headers });
    return response.body ?? new ReadableStream();
  }

  async readBytes(path: string): Promise<Uint8Array> {
    return new Uint8Array(await (await this.#transport.send("GET", this.#file(path))).arrayBuffer());
  }

  async readText(path: string): Promise<string> {
    return (await this.#transport.send("GET", this.#file(path))).text();
  }

  list(path?: string, options: { recursive?: boolean } = {}): Promise<FileInfo[]> {
    return this.#transport.json("GET", `${this.#path}/files`, { query: { path, ...options } });
  }

  stat(path: string): Promise<FileInfo> {
    return this.#transport.json("GET", `${this.#path}/stat`, { query: { path } });
  }

  mkdir(path: string): Promise<void> {
    return this.#transport.json("POST", `${this.#path}/mkdir`, { json: { path } });
  }

  move(from: string, to: string, options: { replace?: boolean } = {}): Promise<void> {
    return this.#transport.json("POST", `${this.#path}/move`, { json: { from, to, ...options } });
  }

  remove(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    return this.#transport.json("DELETE", this.#file(path), { query: { ...options } });
  }

  search(options: SearchOptions): Promise<SearchResult> {
    return this.#transport.json("GET", `${this.#path}/search`, { query: { ...options } });
  }

  /** Follows changes of files from now on, until the loop is left. */
  watch(path?: string, options: { recursive?: boolean } & LiveOptions = {}): AsyncGenerator<FileEvent, void> {
    const { signal, ...query } = options;
    const call = { query: { path, ...query }, ...(signal === undefined ? {} : { signal }) };
    return readLive(this.#transport, "GET", `${this.#path}/watch`, call);
  }

  /** A folder as a tar archive. */
  async download(path?: string, options: { gzip?: boolean } = {}): Promise<ReadableStream<Uint8Array>> {
    const query = { path, ...options };
    const response = await this.#transport.send("GET", `${this.#path}/archive`, { query, timeoutMs: null });
    return response.body ?? new ReadableStream();
  }

  /** A tar archive, plain or gzip, into a folder: whole, or refused with nothing left. */
  async upload(archive: FileBody, path?: string, options: { replace?: boolean } = {}): Promise<void> {
    const headers = { "content-type": "application/x-tar" };
    const query = { path, ...options };
    await this.#transport.json("PUT", `${this.#path}/archive`, { body: archive, headers, query, timeoutMs: null });
  }

  /** A URL that does one upload or download without a key. */
  async sign(
    method: "GET" | "PUT",
    path: string,
    options: { expires_in_seconds?: number; max_bytes?: number } = {},
  ): Promise<SignedUrl> {
    const json = { method, path, ...options };
    const { url, expires_at } = await this.#transport.json<SignedUrl>("POST", `${this.#path}/signed-urls`, { json });
    return { url: this.#transport.absolute(url), expires_at };
  }

  #file(path: string): string {
    const inside = path.replace(/^\/workspace\//, "");
    const names = inside.replace(/^\//, "").split("/").map(encodeURIComponent);
    // An empty part of a URL may be lost on the way.
    return `${this.#path}/files/${inside.startsWith("/") ? "%2F" : ""}${names.join("/")}`;
  }
}
