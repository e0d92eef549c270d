import { Agent, type IncomingMessage, request } from "node:http";

export interface RestAnswer {
  status: number;
  bytes: Buffer;
  /** From the call to the end of the answer, and to its first byte of the body. */
  tookMs: number;
  firstByteMs: number;
  /** What the server says it took. */
  serverMs: number;
  /** Of that, from when the request was understood. */
  actMs: number;
}

type Body = Buffer | object;

/** The least that a client of the API can be: kept connections, and nothing between Node's parser and the caller. */
export class Rest implements Disposable {
  readonly #agent = new Agent({ keepAlive: true });
  readonly address: URL;
  readonly key: string;

  constructor(address: string, key: string) {
    this.address = new URL(address);
    this.key = key;
  }

  call(method: string, path: string, body?: Body): Promise<RestAnswer> {
    const isRaw = Buffer.isBuffer(body);
    const bytes = isRaw ? body : body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const type = isRaw ? "application/octet-stream" : "application/json";
    const { hostname: host, port } = this.address;
    const headers = {
      "x-api-key": this.key,
      ...(bytes === undefined ? {} : { "content-type": type, "content-length": bytes.length }),
    };
    return new Promise((resolve, reject) => {
      const startMs = performance.now();
      const asked = request({ host, port, method, path, headers, agent: this.#agent });
      asked.on("error", reject);
      asked.on("response", (response) => collect(response.on("error", reject), startMs, resolve));
      asked.end(bytes);
    });
  }

  /** The answer to a call that must succeed. */
  async get<T>(path: string): Promise<T> {
    return toJson<T>(await this.call("GET", path));
  }

  async post<T>(path: string, body: object = {}): Promise<T> {
    return toJson<T>(await this.call("POST", path, body));
  }

  async delete(path: string): Promise<void> {
    toJson(await this.call("DELETE", path));
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

export function toJson<T>({ status, bytes }: Pick<RestAnswer, "status" | "bytes">): T {
  if (status >= 400) throw new Error(`${status}: ${bytes}`);
  return (bytes.length === 0 ? undefined : JSON.parse(bytes.toString())) as T;
}

function collect(response: IncomingMessage, startMs: number, done: (answer: RestAnswer) => void): void {
  const chunks: Buffer[] = [];
  let firstByteMs = Number.NaN;
  response.on("data", (chunk: Buffer) => {
    if (chunks.length === 0) firstByteMs = performance.now() - startMs;
    chunks.push(chunk);
  });
  response.on("end", () => {
    const tookMs = performance.now() - startMs;
    const timing = String(response.headers["server-timing"]);
    const [serverMs = Number.NaN, actMs = Number.NaN] = [...timing.matchAll(/dur=([\d.]+)/g)].map(([, ms]) =>
      Number(ms),
    );
    done({ status: response.statusCode ?? 0, bytes: Buffer.concat(chunks), tookMs, firstByteMs, serverMs, actMs });
  });
}
