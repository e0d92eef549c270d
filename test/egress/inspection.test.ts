import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { makeAuthorityKey } from "../../packages/server/src/egress/inspection/authority.ts";
import { drain } from "./field.ts";
import { webHost } from "./hosts.ts";
import { ask, inspected, inspectedField, soon } from "./inspected.ts";

describe("TLS that a rule has looked into, with HTTP/1.1 inside", () => {
  it.each([false, true])(
    "[NET-08] reaches the host, which proves its name to the gate (directly: %s)",
    async (direct) => {
      await using host = await webHost({ tls: true });
      await using box = await inspectedField({ port: host.port });
      const program = await box.open("allowed.example", { direct });
      expect(program.getPeerCertificate().issuer.CN).toBe("Caisson sandbox");
      const answer = await ask(program, "/v1/x?y=1", { method: "POST", body: "hello" });
      expect(answer).toMatchObject({ status: 200, body: "POST /v1/x?y=1 5" });
      expect(host.requests).toMatchObject([{ method: "POST", url: "/v1/x?y=1", body: "hello" }]);
      expect(box.attempts).toMatchObject([{ verdict: "allowed", host: "allowed.example", port: 443 }]);
    },
  );

  it("[NET-08] sends the requests of one connection on one connection", async () => {
    await using host = await webHost({ tls: true });
    await using box = await inspectedField({ port: host.port });
    const program = await box.open("allowed.example", { protocols: ["http/1.1"] });
    for (const path of ["/1", "/2", "/3"]) expect((await ask(program, path)).body).toBe(`GET ${path} 0`);
    expect(host.connections()).toBe(1);
    expect(box.attempts).toHaveLength(1);
    program.destroy();
    await soon(() => expect(box.attempts[0]?.end?.bytesDown).toBeGreaterThan(100));
    expect(box.attempts[0]?.end?.reason).toBeNull();
  });

  it("[NET-08] answers requests that are sent at once in their order, and so many of them", async () => {
    await using host = await webHost({ tls: true });
    await using box = await inspectedField({ port: host.port });
    const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: allowed.example\r\n\r\n`;
    const few = await box.open("allowed.example");
    let got = "";
    few.setEncoding("latin1").on("data", (chunk) => {
      got += chunk;
    });
    few.write(["/1", "/2", "/3"].map(request).join(""));
    await soon(() => expect(got.match(/GET \S+ 0/g)).toEqual(["GET /1 0", "GET /2 0", "GET /3 0"]));
    expect(host.connections()).toBe(1);
    const many = await box.open("allowed.example");
    const closed = new Promise((resolve) => many.once("close", resolve));
    many.write(request("/many").repeat(1_000));
    await closed;
    expect(host.requests.length).toBeLessThan(100);
  });

  it("[NET-08] reaches the host again when that has closed its connection", async () => {
    await using host = await webHost({
      tls: true,
      answer: (_request, response) => void response.writeHead(200, { connection: "close" }).end("bye"),
    });
    await using box = await inspectedField({ port: host.port });
    const program = await box.open("allowed.example");
    expect((await ask(program, "/1")).body).toBe("bye");
    expect((await ask(program, "/2")).body).toBe("bye");
    expect(host.connections()).toBe(2);
    expect(box.attempts).toMatchObject([{ verdict: "allowed" }, { verdict: "allowed" }]);
  });

  it("[NET-08] does not send a request on a connection that its host has ended meanwhile", async () => {
    await using host = await webHost({ tls: true });
    let ended = 0;
    host.server.on("secureConnection", (socket) => {
      socket.on("close", () => ended++);
    });
    host.server.on("request", (request, response) =>
      response.on("finish", () => setImmediate(() => request.socket.end())),
    );
    await using box = await inspectedField({ port: host.port });
    const program = await box.open("allowed.example");
    for (const turn of [1, 2, 3]) {
      expect(await ask(program, "/", { method: "POST", body: "x" })).toMatchObject({ status: 200 });
      await soon(() => expect(ended).toBe(turn));
      await soon(() => expect(box.gate.open).toBe(0));
    }
    expect(host.requests).toHaveLength(3);
  });

  it("[NET-07] refuses a request for another host than the connection's, which fronting is", async () => {
    await using host = await webHost({ tls: true });
    await using box = await inspectedField({ port: host.port });
    for (const named of ["other.example", "allowed.example.evil.example", "allowed.example:8443"]) {
      const program = await box.open("allowed.example");
      expect(await ask(program, "/", { headers: { host: named } })).toMatchObject({ status: 400 });
    }
    expect(
      await ask(await box.open("allowed.example"), "/", { headers: { host: "allowed.example:443" } }),
    ).toMatchObject({
      status: 200,
    });
    expect(host.requests).toHaveLength(1);
    expect(box.attempts.filter(({ verdict }) => verdict === "denied").map(({ reason }) => reason)).toContain(
      'Host is "other.example", but the connection is to allowed.example',
    );
  });

  it("[NET-08] refuses methods and paths that no rule allows, in words", async () => {
    await using host = await webHost({ tls: true });
    const rule = { ...inspected(), methods: ["GET"], paths: ["/v1/*"] };
    await using box = await inspectedField({ port: host.port, policy: { allow: [rule] } });
    const program = await box.open("allowed.example");
    expect(await ask(program, "/v1/x")).toMatchObject({ status: 200 });
    for (const [method, path] of [
      ["POST", "/v1/x"],
      ["GET", "/v2/x"],
      ["GET", "/v1/../v2"],
    ] as const) {
      const answer = await ask(await box.open("allowed.example"), path, { method });
      expect(answer).toMatchObject({ status: 403, headers: { "x-caisson-egress": "denied" } });
      expect(JSON.parse(answer.body).detail).toContain(`no rule lets ${method} ${path} out`);
    }
    expect(host.requests).toHaveLength(1);
    expect(box.attempts.filter(({ verdict }) => verdict === "denied")).toHaveLength(3);
  });

  it("[NET-08] passes a WebSocket that the host agrees to", async () => {
    await using host = await webHost({ tls: true });
    host.server.on("upgrade", (_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst");
      socket.pipe(socket);
    });
    await using box = await inspectedField({ port: host.port });
    const program = await box.open("allowed.example");
    program.write("GET /ws HTTP/1.1\r\nHost: allowed.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    let got = "";
    program.setEncoding("latin1").on("data", (chunk) => {
      got += chunk;
    });
    await soon(() => expect(got).toMatch(/^HTTP\/1\.1 101 [\s\S]*first$/));
    program.write("frames");
    await soon(() => expect(got).toMatch(/firstframes$/));
  });

  it("tells a program inside its TLS when the host cannot prove its name", async () => {
    await using host = await webHost({ tls: true });
    await using box = await inspectedField({ port: host.port, trustHost: false });
    const answer = await ask(await box.open("allowed.example"));
    expect(answer).toMatchObject({ status: 502, headers: { "x-caisson-egress": "failed" } });
    expect(answer.body).toContain("TLS with allowed.example failed");
    expect(host.requests).toEqual([]);
    await soon(() => expect(box.attempts[0]?.end?.reason).toContain("TLS with allowed.example failed"));
  });

  it("[NET-06] tells a program inside its TLS when the name leads where it may not", async () => {
    await using host = await webHost({ tls: true });
    const rule = { host: "allowed.example", port: 443, protocol: "tls" as const, inspect: true };
    await using box = await inspectedField({ port: host.port, policy: { allow: [rule] } });
    const answer = await ask(await box.open("allowed.example", { direct: true }));
    expect(answer).toMatchObject({ status: 403, headers: { "x-caisson-egress": "denied" } });
    expect(host.connections()).toBe(0);
  });

  it("reaches nothing for a program that trusts another authority", async () => {
    await using host = await webHost({ tls: true });
    await using box = await inspectedField({ port: host.port });
    const { certificate } = makeAuthorityKey(Date.now());
    await expect(box.open("allowed.example", { ca: certificate })).rejects.toThrow();
    await soon(() => expect(box.attempts[0]?.end?.reason).toContain("may not trust"));
    expect(host.requests).toEqual([]);
  });

  it("[NET-07] breaks a connection whose hello names another host, or that offers what is not HTTP", async () => {
    await using host = await webHost({ tls: true });
    await using box = await inspectedField({ port: host.port });
    await expect(box.open("allowed.example", { protocols: ["mqtt"] })).rejects.toThrow();
    const address = String(await box.lookup("allowed.example"));
    for (const bytes of ["GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n", "SSH-2.0-x\r\n"]) {
      const socket = await box.tunnels.connect(address, 443);
      socket.write(bytes);
      expect((await drain(socket)).text).toBe("");
    }
    expect(host.requests).toEqual([]);
  });

  it("[NET-10] cuts a download when its rule goes", async () => {
    await using host = await webHost({
      tls: true,
      answer: (_request, response) => {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(16_384)));
        };
        response.on("drain", more);
        more();
      },
    });
    await using box = await inspectedField({ port: host.port });
    const program = await box.open("allowed.example");
    program.write("GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n");
    await once(program, "data");
    const closed = new Promise((resolve) => program.once("close", resolve));
    program.resume();
    box.setPolicy({ allow: [inspected("other.example")] });
    await closed;
    await soon(() => expect(box.attempts[0]?.end?.reason).toContain("the policy changed"));
  });

  it("is the same authority for the next owner of a sandbox", async () => {
    await using host = await webHost({ tls: true });
    await using first = await inspectedField({ port: host.port });
    const authorityPath = `${first.folder}/authority`;
    await using one = await inspectedField({ port: host.port, authorityPath });
    const kept = await one.authority();
    await using two = await inspectedField({ port: host.port, authorityPath });
    expect(await two.authority()).toBe(kept);
    expect(await first.authority()).not.toBe(kept);
    expect(await ask(await two.open("allowed.example", { ca: kept }))).toMatchObject({ status: 200 });
  });
});
