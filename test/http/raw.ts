import { Agent, type IncomingHttpHeaders, request } from "node:http";

export interface RawRequest {
  method: string;
  /** As it goes over the wire: nothing is resolved or encoded. */
  path: string;
  headers: Record<string, string>;
  body?: string | Buffer | undefined;
}

export interface RawResponse {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  /** It would have gone on: a stream that was left, or a wait that was given up. */
  left: boolean;
}

/** Requests that no browser would send. */
export class RawClient implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  /** Streams are left once they have begun, and undefined is what did not answer in so long. */
  send({ method, path, headers, body }: RawRequest, patienceMs = 10_000): Promise<RawResponse | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<RawResponse | undefined>();
    const { hostname, port } = new URL(this.#base);
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const sent = request(
      { agent: this.#agent, hostname, port, method, path, headers: { ...headers, ...length } },
      (response) => {
        const pieces: Buffer[] = [];
        const done = (left: boolean) => {
          clearTimeout(timer);
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, bytes: Buffer.concat(pieces), left });
        };
        response.on("data", (piece: Buffer) => void pieces.push(piece));
        response.on("end", () => done(false));
        response.on("error", () => done(true));
        if (/event-stream|ndjson/.test(response.headers["content-type"] ?? "")) {
          response.destroy();
          done(true);
        }
      },
    );
    const timer = setTimeout(() => {
      resolve(undefined);
      sent.destroy();
    }, patienceMs);
    sent.on("error", (error) => {
      clearTimeout(timer);
      reject(new Error(`${method} ${path}: ${error.message}`));
    });
    sent.end(body);
    return promise;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
