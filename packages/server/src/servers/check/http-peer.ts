import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { Readable } from "node:stream";
import { AppError } from "../../core/errors.ts";
import { LineReader } from "../../core/line-reader.ts";
import { ask } from "../../http-over/ask.ts";
import { BytePile } from "../../lib/byte-pile.ts";
import { randomId } from "../../lib/random-id.ts";
import { serverLimits } from "../limits.ts";
import { type Answer, answerIn, Budget, type Peer } from "./peer.ts";

const headBytes = 32 * 1024;

/** Speaks streamable HTTP at one path, with a connection for each request. */
export class HttpPeer implements Peer {
  readonly #dial: () => Promise<Duplex>;
  readonly #host: string;
  readonly #path: string;
  readonly #budget = new Budget();
  #session: string | undefined;
  #version: string | undefined;
  #isModern = false;

  constructor(dial: () => Promise<Duplex>, host: string, path: string) {
    this.#dial = dial;
    this.#host = host;
    this.#path = path;
  }

  agree(protocolVersion: string, isModern: boolean): void {
    this.#version = protocolVersion;
    this.#isModern = isModern;
  }

  async ask(method: string, params: Record<string, unknown>): Promise<Answer> {
    const id = randomId(8, "hex");
    const response = await this.#post(method, { jsonrpc: "2.0", id, method, params });
    const session = response.headers["mcp-session-id"];
    if (typeof session === "string" && session.length <= 1_024) this.#session ??= session;
    const answer = await this.#answerOf(response, id);
    if (answer !== undefined) return answer;
    throw new AppError("unavailable", `the server answered ${method} with status ${response.statusCode ?? 0}`);
  }

  async tell(method: string): Promise<void> {
    const response = await this.#post(method, { jsonrpc: "2.0", method });
    response.destroy();
  }

  async #post(method: string, message: object): Promise<IncomingMessage> {
    const body = Buffer.from(JSON.stringify(message));
    const connection = await this.#dial();
    connection.on("error", () => undefined);
    const response = await ask(
      connection,
      {
        method: "POST",
        path: this.#path,
        fields: [
          ...["Host", this.#host, "Content-Type", "application/json", "Content-Length", String(body.length)],
          ...["Accept", "application/json, text/event-stream", "Connection", "close"],
          ...(this.#session === undefined ? [] : ["Mcp-Session-Id", this.#session]),
          ...(this.#version === undefined ? [] : ["MCP-Protocol-Version", this.#version]),
          ...(this.#isModern ? ["Mcp-Method", method] : []),
        ],
        headBytes,
        answerMs: serverLimits.startMs,
        peer: "the server",
      },
      { body: Readable.from([body]) },
    );
    response.once("close", () => connection.destroy());
    return response;
  }

  /** Finds the answer; other events of a stream do not count. */
  async #answerOf(response: IncomingMessage, id: string): Promise<Answer | undefined> {
    const isStream = String(response.headers["content-type"]).startsWith("text/event-stream");
    const [lines, whole] = [new LineReader(serverLimits.checkBytes), new BytePile()];
    let data: string[] = [];
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        this.#budget.take(chunk.length);
        if (!isStream) whole.push(chunk);
        else lines.push(chunk);
        for (let line = lines.next(); line !== undefined; line = lines.next()) {
          const bare = line.replace(/\r$/, "");
          if (bare.startsWith("data:")) data.push(bare.slice("data:".length).trimStart());
          if (bare !== "") continue;
          const text = data.join("\n");
          data = [];
          const answer = text.includes(id) ? answerIn(text, id) : undefined;
          if (answer !== undefined) return answer;
        }
      }
      return isStream ? undefined : answerIn(whole.take().toString(), id);
    } finally {
      response.destroy();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
