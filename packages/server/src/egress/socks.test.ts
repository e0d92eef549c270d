import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readGreeting, readRequest, requestReply } from "./socks.ts";

const name = (host: string, port: number, command = 1) =>
  Buffer.concat([
    Buffer.from([5, command, 0, 3, host.length]),
    Buffer.from(host, "latin1"),
    Buffer.from([port >> 8, port & 255]),
  ]);

describe("SOCKS5", () => {
  it("is greeted with the methods a client has", () => {
    expect(readGreeting(Buffer.from([5, 2, 2, 0]))).toEqual({ state: "read", value: true, bytes: 4 });
    expect(readGreeting(Buffer.from([5, 1, 2]))).toEqual({ state: "read", value: false, bytes: 3 });
    expect(readGreeting(Buffer.from([4, 1])).state).toBe("refused");
    expect(readGreeting(Buffer.from("GET")).state).toBe("refused");
  });

  it.each([
    [name("api.example.com", 443), { host: "api.example.com", port: 443 }],
    [Buffer.from([5, 1, 0, 1, 10, 0, 0, 1, 0, 80]), { host: "10.0.0.1", port: 80 }],
    [
      Buffer.from([5, 1, 0, 4, ...Array(15).fill(0), 1, 0, 80]),
      { host: "0000:0000:0000:0000:0000:0000:0000:0001", port: 80 },
    ],
    [name("x", 1, 2), "unknownCommand"],
    [name("x", 1, 3), "unknownCommand"],
    [name("a\0b", 1), "unknownAddress"],
    [name("", 1), "unknownAddress"],
    [name("x", 0), "unknownAddress"],
    [Buffer.from([5, 1, 0, 9, 0, 0, 0]), "unknownAddress"],
  ])("request %#", (bytes, value) => expect(readRequest(bytes)).toMatchObject({ state: "read", value }));

  it("reads no request before all of it is there, and nothing after it", () => {
    const bytes = name("api.example.com", 443);
    for (let end = 0; end < bytes.length; end++) expect(readRequest(bytes.subarray(0, end)).state).toBe("more");
    expect(readRequest(Buffer.concat([bytes, Buffer.from("more")]))).toMatchObject({ bytes: bytes.length });
  });

  it("bears any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        void readGreeting(Buffer.from(bytes));
        const step = readRequest(Buffer.from([5, ...bytes]));
        if (step.state === "read") expect(step.bytes).toBeLessThanOrEqual(bytes.length + 1);
      }),
    );
  });

  it("answers with the reason's number", () => expect(requestReply("notAllowed")[1]).toBe(2));
});
