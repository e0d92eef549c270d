import type { Judge } from "./document.ts";
import { checkMessages } from "./messages.ts";

export interface Sent {
  json?: unknown;
  body?: string | Uint8Array | ReadableStream;
  headers?: Record<string, string>;
  /** The request breaks the rules on purpose: only the answer is judged. */
  bad?: boolean;
  signal?: AbortSignal;
}

export interface Received {
  status: number;
  headers: Headers;
  /** Of a JSON or problem body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it field by field
  json: any;
  bytes: Buffer;
}

/** A client whose every request and answer is held against the OpenAPI document. */
export class Api {
  readonly base: string;
  readonly headers: Record<string, string>;
  readonly #judge: Judge;

  constructor(base: string, judge: Judge, headers: Record<string, string>) {
    this.base = base;
    this.headers = headers;
    this.#judge = judge;
  }

  with(headers: Record<string, string>): Api {
    return new Api(this.base, this.#judge, { ...this.headers, ...headers });
  }

  async send(method: string, path: string, sent: Sent = {}): Promise<Received> {
    const response = await this.open(method, path, sent);
    const bytes = Buffer.from(await response.arrayBuffer());
    const contentType = response.headers.get("content-type");
    const isJson = /^application\/(problem\+)?json/.test(contentType ?? "");
    const json = isJson && bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined;
    const url = new URL(path, this.base);
    if (response.status !== 405 && !(response.status === 404 && sent.bad))
      this.#judge.checkResponse({ method, url, status: response.status, contentType, responseBody: json });
    if (!response.headers.has("x-request-id")) throw new Error(`${method} ${path}: no request id`);
    return { status: response.status, headers: response.headers, json, bytes };
  }

  /** The answer while its body may still be on its way. Its messages are judged as they are read. */
  async open(
    method: string,
    path: string,
    { json, body, headers = {}, bad = false, signal }: Sent = {},
  ): Promise<Response> {
    const url = new URL(path, this.base);
    if (!bad) this.#judge.checkRequest({ method, url, requestBody: json, status: 0, contentType: null });
    const response = await fetch(url, {
      method,
      headers: { ...this.headers, ...(json === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      ...(body === undefined ? {} : { body, duplex: "half" }),
      ...(signal === undefined ? {} : { signal }),
    } as RequestInit);
    const { status } = response;
    const contentType = response.headers.get("content-type");
    checkMessages(response, (responseBody) =>
      this.#judge.checkResponse({ method, url, status, contentType, responseBody }),
    );
    return response;
  }

  get = (path: string, sent?: Sent) => this.send("GET", path, sent);
  post = (path: string, json?: unknown, sent?: Sent) =>
    this.send("POST", path, json === undefined ? sent : { ...sent, json });
  put = (path: string, body: string | Uint8Array | ReadableStream, sent?: Sent) =>
    this.send("PUT", path, { ...sent, body });
  delete = (path: string, sent?: Sent) => this.send("DELETE", path, sent);

  /** A new sandbox. */
  async create(request: object = {}): Promise<string> {
    const { status, json } = await this.post("/api/v1/sandboxes", request);
    if (status !== 201) throw new Error(JSON.stringify(json));
    return json.id;
  }
}
