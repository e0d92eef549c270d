import { once } from "node:events";
import { createServer } from "node:net";
import { connect as connectTls } from "node:tls";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { readClientHello } from "./client-hello.ts";
import { gateLimits } from "./gate-limits.ts";

/** What a real client says first. */
async function helloOf(servername: string | undefined): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const client = connectTls({ port, host: "127.0.0.1", ...(servername === undefined ? {} : { servername }) });
  client.on("error", () => undefined);
  const [socket] = await once(server, "connection");
  const [bytes] = await once(socket, "data");
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

/** The same handshake in records of that many bytes. */
function inRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(records);
}

/** One with these extensions, and nothing that the reader does not look at. */
function made(extensions: readonly (readonly [number, Buffer])[]): Buffer {
  const list = Buffer.concat(
    extensions.flatMap(([type, body]) => [
      Buffer.from([type >> 8, type & 255, body.length >> 8, body.length & 255]),
      body,
    ]),
  );
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32),
    Buffer.from([0, 0, 2, 0x13, 1, 1, 0, list.length >> 8, list.length & 255]),
    list,
  ]);
  const message = Buffer.concat([Buffer.from([1, 0, body.length >> 8, body.length & 255]), body]);
  return inRecords(Buffer.concat([Buffer.alloc(5), message]), 16_384);
}

function nameList(...names: string[]): Buffer {
  const entries = Buffer.concat(
    names.flatMap((name) => [Buffer.from([0, name.length >> 8, name.length & 255]), Buffer.from(name, "latin1")]),
  );
  return Buffer.concat([Buffer.from([entries.length >> 8, entries.length & 255]), entries]);
}

describe("the name in a ClientHello", () => {
  let hello: Buffer;
  beforeAll(async () => {
    hello = await helloOf("api.example.com");
  });
  const read = { state: "read", serverName: "api.example.com", ech: false, protocols: [] };

  it("is read from a real one", () => expect(readClientHello(hello)).toEqual(read));

  it("is null where there is none", async () => {
    expect(readClientHello(await helloOf(undefined))).toMatchObject({ state: "read", serverName: null });
  });

  it("is read whatever the records, and not before all of it is there", () => {
    fc.assert(
      fc.property(fc.integer({ min: 32, max: 600 }), fc.integer({ min: 0, max: 3_000 }), (size, cut) => {
        const bytes = inRecords(hello, size);
        expect(readClientHello(bytes)).toEqual(read);
        if (cut < bytes.length) expect(readClientHello(bytes.subarray(0, cut)).state).toBe("more");
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ["two names", made([[0, nameList("a.example", "b.example")]])],
    ["the extension twice", made([[0, nameList("a.example")], [0, nameList("b.example")]])], // biome-ignore format: pairs
    ["a zero byte in it", made([[0, nameList("a.example\0.b")]])],
    ["an empty name", made([[0, nameList("")]])],
    ["a list that is too long", made([[0, Buffer.from([0, 200, 0, 0, 1, 97])]])],
    ["HTTP in its place", Buffer.from("GET / HTTP/1.1\r\n")],
    ["SSH in its place", Buffer.from("SSH-2.0-x\r\n")],
    ["another handshake message", Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ["a length that nobody needs", Buffer.from([22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff])],
    ["an empty record", Buffer.from([22, 3, 1, 0, 0])],
  ])("is refused with %s", (_, bytes) => expect(readClientHello(bytes).state).toBe("refused"));

  it("is told apart from one that hides another (ECH)", () => {
    const bytes = made([
      [0, nameList("outer.example")],
      [0xfe0d, Buffer.alloc(40)],
    ]);
    expect(readClientHello(bytes)).toEqual({ state: "read", serverName: "outer.example", ech: true, protocols: [] });
  });

  it("is never waited for past the limit, nor put together from crumbs", () => {
    const long = Buffer.concat([Buffer.alloc(5), Buffer.from([1, 0, 0x7f, 0xf0]), Buffer.alloc(40_000)]);
    expect(readClientHello(inRecords(long, 16_384).subarray(0, gateLimits.helloBytes)).state).toBe("refused");
    expect(readClientHello(inRecords(hello, 3)).state).toBe("refused");
    const head = inRecords(hello, 2).subarray(0, 7 * 3);
    expect(readClientHello(head).state).toBe("more");
  });

  it("may be any bytes, and any real one with some of them changed", () => {
    const changes = fc.array(fc.tuple(fc.nat(2_000), fc.nat(255)), { maxLength: 20 });
    fc.assert(
      fc.property(changes, (list) => {
        const bytes = Buffer.from(hello);
        for (const [at, value] of list) bytes[at % bytes.length] = value;
        expect(["more", "read", "refused"]).toContain(readClientHello(bytes).state);
      }),
      { numRuns: 500 },
    );
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void readClientHello(Buffer.from(bytes))));
  });
});
