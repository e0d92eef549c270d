import { createHash, randomBytes } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpLimits } from "../../packages/server/src/http/limits.ts";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const MB = 1_000_000;

describe("what a run is given over REST", () => {
  let server: TestServer;
  let api: Api;
  let at: string;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
    at = `/api/v1/sandboxes/${await api.create()}`;
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  it("[EXE-01] standard input may be bytes, by REST and by MCP's tools", async () => {
    const bytes = randomBytes(3 * MB);
    const stdin_base64 = bytes.toString("base64");
    const hash = createHash("sha256").update(bytes).digest("hex");
    const ran = await api.post(`${at}/exec`, { command: "sha256sum", stdin_base64 });
    expect(ran.json.stdout).toBe(`${hash}  -\n`);
    const code = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())";
    const coded = await api.post(`${at}/execute_code`, { language: "python", code, stdin_base64 });
    expect(coded.json.stdout).toBe(`${hash}\n`);
    for (const given of [
      { language: "shell", code: "sha256sum" },
      { code, session_id: "kept", stateful: true },
    ]) {
      const small = Buffer.from([0, 255, 10, 128]);
      const { json } = await api.post("/api/v1/tools/execute_code", {
        ...given,
        stdin_base64: small.toString("base64"),
      });
      expect(json.result.stdout).toContain(createHash("sha256").update(small).digest("hex"));
    }
  });

  it("[EXE-01] standard input has one form, and base64 is base64", async () => {
    const refused = await api.post(`${at}/exec`, { command: "cat", stdin: "a", stdin_base64: "YQ==" });
    expect([refused.status, refused.json.detail]).toEqual([400, expect.stringContaining("exclude each other")]);
    const wrong = await api.post(`${at}/exec`, { command: "cat", stdin_base64: "a b!" }, { bad: true });
    expect([wrong.status, wrong.json.detail]).toEqual([400, expect.stringContaining("stdin_base64")]);
    const tool = await api.post("/api/v1/tools/execute_code", { code: "1", stdin: "a", stdin_base64: "YQ==" });
    expect([tool.status, tool.json.code]).toEqual([400, "invalid"]);
  });

  it("[EXE-01] arguments and environment may take 2 MiB, and more is refused with that limit", async () => {
    const words = Array.from({ length: 10 }, () => "x".repeat(120_000));
    const env = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`big${n}`, "v".repeat(125_000)]));
    const count = ["bash", "-c", 'printf %s "$@" "$big0" "$big5" | wc -c', "bash"];
    const ran = await api.post(`${at}/exec`, { command: [...count, ...words], env });
    expect(ran.json.stdout ?? ran.json).toBe(`${10 * 120_000 + 2 * 125_000}\n`);
    const long = await api.post(`${at}/exec`, { command: ["echo", "x".repeat(131_072)] });
    expect([long.status, long.json.detail]).toEqual([
      413,
      "an argument or variable has 131073 bytes; Linux takes 131072",
    ]);
    const more = await api.post(`${at}/exec`, { command: [...count, ...words, ...words], env });
    expect([more.status, more.json.code]).toEqual([413, "too_large"]);
    expect(more.json.detail).toMatch(/arguments and environment have \d+ bytes; Linux takes 2097152/);
  });

  it.each([
    ["with its length", (size: number) => `content-length: ${size}\r\n\r\n`, 60 * MB],
    ["in chunks", () => "transfer-encoding: chunked\r\n\r\n", 60 * MB],
  ])(
    "[API-02] a client that reads nothing before it has sent all of a body %s that is too large reads its 413",
    async (_, head, size) => {
      const socket = connect(Number(new URL(server.base).port), "127.0.0.1");
      const key = api.headers["x-api-key"];
      socket.pause();
      socket.write(
        `POST ${at}/exec HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\nconnection: close\r\n${head(size)}`,
      );
      const isChunked = head(size).includes("chunked");
      const piece = "x".repeat(MB);
      for (let sent = 0; sent < size; sent += MB) {
        const whole = isChunked ? `${MB.toString(16)}\r\n${piece}\r\n` : piece;
        await new Promise<void>((resolve, reject) =>
          socket.write(whole, (error) => (error ? reject(error) : resolve())),
        );
      }
      if (isChunked) socket.write("0\r\n\r\n");
      socket.resume();
      expect(await text(socket)).toMatch(/^HTTP\/1.1 413 .*"code":"too_large"/s);
      expect(httpLimits.discardBytes).toBeGreaterThan(size);
    },
  );
});
