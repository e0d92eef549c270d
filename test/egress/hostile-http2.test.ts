import { describe, expect, it } from "vitest";
import { askHttp2, http2Host, inspectedField } from "./inspected.ts";

const endStream = 1;
const endHeaders = 4;

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.set([type, flags], 3);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Literal fields (RFC 7541, 6.2.2): also those that libraries refuse to send. */
function fields(all: Readonly<Record<string, string>>): Buffer {
  const text = (value: string) => [Buffer.from([value.length]), Buffer.from(value)];
  return Buffer.concat(
    Object.entries(all).flatMap(([name, value]) => [Buffer.from([0]), ...text(name), ...text(value)]),
  );
}

describe("HTTP/2 of a program that minds no library's rules", () => {
  it("ends its own stream, and nothing else, by fields and trailers that cannot be sent on", async () => {
    await using host = await http2Host((stream) => {
      stream.respond({ ":status": 200 });
      stream.pipe(stream);
    });
    await using box = await inspectedField({ port: host.port });
    const socket = await box.open("allowed.example", { protocols: ["h2"] });
    const closed = new Set<number>();
    let came = Buffer.alloc(0);
    const { promise, resolve } = Promise.withResolvers<void>();
    socket
      .on("close", () => resolve())
      .on("data", (chunk: Buffer) => {
        came = Buffer.concat([came, chunk]);
        while (came.length >= 9 && came.length >= 9 + came.readUIntBE(0, 3)) {
          const isReset = came[3] === 3;
          const isEnd = (came[3] === 0 || came[3] === 1) && ((came[4] ?? 0) & endStream) !== 0;
          if (isReset || isEnd) closed.add(came.readUInt32BE(5));
          came = came.subarray(9 + came.readUIntBE(0, 3));
        }
        if (closed.size === 2) resolve();
      });
    const head = { ":method": "POST", ":scheme": "https", ":authority": "allowed.example", ":path": "/" };
    const odd = { "http2-settings": "x" };
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(
      Buffer.concat([
        frame(4, 0, 0, Buffer.alloc(0)),
        frame(1, endHeaders | endStream, 1, fields({ ...head, ...odd })),
        frame(1, endHeaders, 3, fields(head)),
        frame(0, 0, 3, Buffer.from("body")),
        frame(1, endHeaders | endStream, 3, fields(odd)),
      ]),
    );
    await promise;
    socket.destroy();
    const session = await box.http2("allowed.example");
    expect(await askHttp2(session, { ":path": "/" })).toMatchObject({ status: 200 });
    session.destroy();
  });
});
