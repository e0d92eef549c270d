import type { Transport } from "./transport.ts";

/** Access to a port: with a key; with a key or a link; for anybody. */
export type PortVisibility = "private" | "token" | "public";

export interface PortInfo {
  port: number;
  visibility: PortVisibility;
  /** For browsers; null where none may come. */
  url: string | null;
}

export interface PortLink {
  url: string;
  expires_at: string;
}

/** Ports of programs in a sandbox. */
export class Ports {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, sandboxPath: string) {
    this.#transport = transport;
    this.#path = sandboxPath;
  }

  /** Those that are more than private. */
  list(): Promise<PortInfo[]> {
    return this.#transport.json("GET", `${this.#path}/ports`);
  }

  set(port: number, visibility: PortVisibility): Promise<PortInfo> {
    return this.#transport.json("PUT", `${this.#path}/ports/${port}`, { json: { visibility } });
  }

  /** A link that opens the port in a browser. */
  link(port: number, options: { expires_in_seconds?: number } = {}): Promise<PortLink> {
    return this.#transport.json("POST", `${this.#path}/port-links`, { json: { port, ...options } });
  }

  /** A request to the program that listens there, with this client's key. */
  fetch(port: number, path = "/", init: RequestInit = {}): Promise<Response> {
    return this.#transport.raw(`${this.#path}/ports/${port}${path.startsWith("/") ? path : `/${path}`}`, init);
  }
}
