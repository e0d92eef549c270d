import { once } from "node:events";
import { constants } from "node:http2";
import { describe, expect, it } from "vitest";
import { webHost } from "./hosts.ts";
import { askHttp2, http2Host, inspected, inspectedField, soon } from "./inspected.ts";

const echo = () =>
  http2Host((stream, headers) => {
    stream.respond({ ":status": 200, "x-path": headers[":path"] });
    stream.pipe(stream);
  });

describe("TLS that a rule has looked into, with HTTP/2 inside", () => {
  it.each([false, true])(
    "[NET-08] carries many streams on one connection to the host (directly: %s)",
    async (direct) => {
      await using host = await echo();
      await using box = await inspectedField({ port: host.port });
      const session = await box.http2("allowed.example", direct);
      const bodies = Array.from({ length: 20 }, (_, index) => `${index}`.repeat(40_000));
      const answers = await Promise.all(
        bodies.map((body) => askHttp2(session, { ":method": "POST", ":path": "/x" }, { body })),
      );
      expect(answers.map(({ body }) => body)).toEqual(bodies);
      expect(answers[0]?.headers["x-path"]).toBe("/x");
      expect(host.connections()).toBe(1);
      expect(host.streams[0]).toMatchObject({ ":authority": "allowed.example", ":scheme": "https" });
      session.destroy();
      await soon(() => expect(box.attempts[0]?.end?.bytesUp).toBeGreaterThan(800_000));
    },
  );

  it("[NET-08] carries trailers both ways, and answers of trailers alone, which gRPC is made of", async () => {
    const seen: unknown[] = [];
    await using host = await http2Host((stream, headers) => {
      if (headers[":path"] === "/svc/Fail")
        return stream.respond({ ":status": 200, "grpc-status": "5" }, { endStream: true });
      stream.on("trailers", (trailers) => seen.push(trailers["x-up"]));
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "grpc-message": "fine" }));
      stream.pipe(stream);
    });
    await using box = await inspectedField({ port: host.port });
    const session = await box.http2("allowed.example");
    const head = { ":method": "POST", te: "trailers", "content-type": "application/grpc" };
    const answer = await askHttp2(
      session,
      { ...head, ":path": "/svc/Call" },
      { body: "abc", trailers: { "x-up": "1" } },
    );
    expect(answer).toMatchObject({ body: "abc", trailers: { "grpc-status": "0", "grpc-message": "fine" } });
    expect(seen).toEqual(["1"]);
    expect(host.streams[0]?.te).toBe("trailers");
    const failed = await askHttp2(session, { ...head, ":path": "/svc/Fail" }, { body: "abc" });
    expect(failed.headers["grpc-status"]).toBe("5");
  });

  it("[NET-07] refuses a stream for another host than the connection's, and goes on with others", async () => {
    await using host = await echo();
    await using box = await inspectedField({ port: host.port });
    const session = await box.http2("allowed.example");
    for (const named of ["other.example", "allowed.example:8443", "evil.allowed.example"])
      expect(await askHttp2(session, { ":authority": named, ":path": "/" })).toMatchObject({ status: 400 });
    expect(await askHttp2(session, { ":path": "/", host: "other.example" })).toMatchObject({ status: 400 });
    expect(await askHttp2(session, { ":path": "/" })).toMatchObject({ status: 200 });
    expect(host.streams).toHaveLength(1);
    expect(box.attempts.filter(({ verdict }) => verdict === "denied")).toHaveLength(4);
  });

  it("[NET-08] judges each stream by methods and paths, whatever of its body is still to come", async () => {
    await using host = await echo();
    const rule = { ...inspected(), methods: ["GET"], paths: ["/v1/*"] };
    await using box = await inspectedField({ port: host.port, policy: { allow: [rule] } });
    const session = await box.http2("allowed.example");
    const large = "x".repeat(300_000);
    const [denied, allowed] = await Promise.all([
      askHttp2(session, { ":method": "POST", ":path": "/v1/x" }, { body: large }),
      askHttp2(session, { ":path": "/v1/x" }),
    ]);
    expect(denied).toMatchObject({ status: 403, headers: { "x-caisson-egress": "denied" } });
    expect(allowed).toMatchObject({ status: 200 });
    expect(await askHttp2(session, { ":path": "/v2" })).toMatchObject({ status: 403 });
    expect(host.streams).toHaveLength(1);
  });

  it("ends an upload that its host has answered before its end", async () => {
    await using host = await http2Host((stream) => {
      stream.respond({ ":status": 413 });
      stream.end("too much");
      stream.close(constants.NGHTTP2_NO_ERROR);
    });
    await using box = await inspectedField({ port: host.port });
    const session = await box.http2("allowed.example");
    const stream = session.request(
      { ":authority": "allowed.example", ":method": "POST", ":path": "/" },
      { endStream: false },
    );
    stream.on("error", () => undefined);
    stream.write("x".repeat(10_000));
    const closed = new Promise((resolve) => stream.once("close", resolve));
    const [answer] = await once(stream, "response");
    expect(answer[":status"]).toBe(413);
    expect((await once(stream.setEncoding("utf8"), "data"))[0]).toBe("too much");
    stream.resume();
    await closed;
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  it("passes a reset on, from either side", async () => {
    const codes: number[] = [];
    await using host = await http2Host((stream, headers) => {
      if (headers[":path"] === "/break") return stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      stream.on("close", () => codes.push(stream.rstCode));
      stream.respond({ ":status": 200 });
      stream.write("first");
    });
    await using box = await inspectedField({ port: host.port });
    const session = await box.http2("allowed.example");
    const broken = session.request({ ":authority": "allowed.example", ":path": "/break" });
    broken.on("error", () => undefined);
    await new Promise((resolve) => broken.once("close", resolve));
    expect(broken.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    const left = session.request({ ":authority": "allowed.example", ":path": "/" });
    left.on("error", () => undefined);
    await once(left, "data");
    left.close(constants.NGHTTP2_CANCEL);
    await soon(() => expect(codes).toEqual([constants.NGHTTP2_CANCEL]));
    expect(session.closed).toBe(false);
  });

  it("tells a program that its host goes away, after what is under way", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using host = await http2Host((stream) => {
      stream.respond({ ":status": 200 });
      stream.write("before ");
      void promise.then(() => stream.end("after"));
    });
    await using box = await inspectedField({ port: host.port });
    const session = await box.http2("allowed.example");
    const answer = askHttp2(session, { ":path": "/" });
    await soon(() => expect(host.streams).toHaveLength(1));
    const gone = once(session, "goaway");
    host.goaway();
    await gone;
    resolve();
    expect((await answer).body).toBe("before after");
    await soon(() => expect(box.gate.open).toBe(0));
  });

  it("[NET-10] is cut when its rule goes", async () => {
    await using host = await http2Host((stream) => {
      stream.respond({ ":status": 200 });
      stream.write("first");
    });
    await using box = await inspectedField({ port: host.port });
    const session = await box.http2("allowed.example");
    const stream = session.request({ ":authority": "allowed.example", ":path": "/" });
    stream.on("error", () => undefined);
    await once(stream, "data");
    const closed = new Promise((resolve) => session.once("close", resolve));
    box.setPolicy({});
    await closed;
    expect(box.attempts[0]?.end?.reason).toContain("the policy changed");
  });

  it("speaks HTTP/1.1 to a program that offers both when that is what its host speaks", async () => {
    await using host = await webHost({ tls: true });
    await using box = await inspectedField({ port: host.port });
    const program = await box.open("allowed.example", { protocols: ["h2", "http/1.1"] });
    expect(program.alpnProtocol).toBe("http/1.1");
  });

  it("takes so many streams at once, and fields of such a size", async () => {
    await using host = await http2Host((stream) => stream.respond({ ":status": 200 }));
    await using box = await inspectedField({ port: host.port });
    const session = await box.http2("allowed.example");
    await soon(() => expect(session.remoteSettings.maxConcurrentStreams).toBe(128));
    expect(session.remoteSettings.maxHeaderListSize).toBe(65_536);
  });
});
