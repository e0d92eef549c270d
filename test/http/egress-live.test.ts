import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { dial } from "../../packages/server/src/egress/dialer.ts";
import { hostWorld } from "../../packages/server/src/egress/host-world.ts";
import { dnsHost, type TestDns, tcpHost, type WebHost, webHost } from "../egress/hosts.ts";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const fetching = `
import json, sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=120).read().decode())
except urllib.error.HTTPError as error:
    print(json.dumps(json.load(error)))
`;

describe.each(engines)("what leaves a sandbox of a daemon on %s", (engine) => {
  let server: TestServer;
  let agent: Api;
  let operator: Api;
  let dns: TestDns;
  let host: WebHost;
  let id: string;
  beforeAll(async () => {
    dns = await dnsHost({ "asked.example": "8.8.8.8", "denied.example": "8.8.8.8", "known.example": "8.8.8.8" });
    host = await webHost();
    const world = hostWorld([dns.address]);
    // 8.8.8.8 is this machine in these tests, and its port 80 the host's.
    const here = (port: number) => (port === 80 ? host.port : port);
    server = await openTestServer(engine, {
      world: { ...world, dial: (_address, port, signal) => dial("127.0.0.1", here(port), signal) },
    });
    agent = await server.as("agent");
    operator = await server.as("operator");
    await operator.send("PATCH", "/api/v1/egress/policy", {
      json: { add: { allow: ["known.example:80"] }, unknown: "ask" },
    });
    id = await agent.create();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
    for (const one of [dns, host]) await one[Symbol.asyncDispose]();
  });

  const get = (url: string) =>
    agent.post(`/api/v1/sandboxes/${id}/exec`, { command: ["python3", "-c", fetching, url] });
  const asked = (subject: string) =>
    vi.waitFor(
      async () => {
        const list = (await operator.get("/api/v1/approvals?state=pending")).json as { id: string; subject: string }[];
        const found = list.find((one) => one.subject === subject);
        if (found === undefined) throw new Error(`nobody asks for ${subject}`);
        return found.id;
      },
      { timeout: 30_000, interval: 20 },
    );
  const decide = (approval: string, json: object) => operator.post(`/api/v1/approvals/${approval}/decide`, json);
  const log = async (name: string) =>
    ((await operator.get("/api/v1/egress/log")).json as { host: string; verdict: string }[]).filter(
      (one) => one.host === name,
    );

  it("[NET-01] what the namespace allows is reached, and the log has it", async () => {
    expect((await get("http://known.example/a")).json.stdout).toBe("GET /a 0\n");
    await vi.waitFor(
      async () =>
        expect(await log("known.example")).toMatchObject([
          {
            verdict: "allowed",
            rule: "known.example:80",
            address: "8.8.8.8",
            bytes_down: expect.any(Number),
            layer: "namespace",
          },
        ]),
      { timeout: 30_000 },
    );
  });

  it("[NET-09] the same connection goes through once a human has said yes, and the next one asks again", async () => {
    const before = host.connections();
    const running = get("http://asked.example/b");
    const approval = await asked("asked.example:80");
    expect(dns.asked).not.toContain("asked.example");
    expect(host.connections()).toBe(before);
    await decide(approval, { approve: true });
    expect((await running).json.stdout).toBe("GET /b 0\n");
    expect(host.connections()).toBe(before + 1);
    expect(await log("asked.example")).toMatchObject([{ verdict: "allowed", approval_id: approval }]);
    const again = get("http://asked.example/c");
    await decide(await asked("asked.example:80"), { approve: true, scope: "sandbox" });
    expect((await again).json.stdout).toBe("GET /c 0\n");
    expect((await get("http://asked.example/d")).json.stdout).toBe("GET /d 0\n");
  });

  it("[NET-09] a no is told to the program, with what it was asked about", async () => {
    const running = get("http://denied.example/");
    const approval = await asked("denied.example:80");
    await decide(approval, { approve: false, reason: "not this" });
    expect(JSON.parse((await running).json.stdout)).toMatchObject({
      status: 403,
      code: "forbidden",
      detail: "denied.example:80 is not allowed: denied by a human: not this",
      details: { refused: "egress", host: "denied.example", port: 80, approval_id: approval, approval_state: "denied" },
    });
    expect(dns.asked).not.toContain("denied.example");
  });

  it("[NET-10] a rule that is taken away over REST cuts what it let out", async () => {
    await using endless = await tcpHost((socket) => {
      const more = () => {
        while (socket.write(Buffer.alloc(16_384)));
      };
      socket.on("drain", more);
      more();
    });
    const rule = `known.example:${endless.port}`;
    const change = (json: object) => operator.send("PATCH", `/api/v1/sandboxes/${id}/egress`, { json });
    expect((await change({ add: { allow: [rule] } })).status).toBe(200);
    const code = `
import socket
try: # it may be cut before the program knows that it is connected
    connection = socket.create_connection(("known.example", ${endless.port}), 60)
    while connection.recv(65536): pass
    print("ended")
except ConnectionResetError: print("reset")
`;
    const running = agent.post(`/api/v1/sandboxes/${id}/exec`, { command: ["python3", "-c", code] });
    await vi.waitFor(() => expect(endless.connections()).toBe(1), { timeout: 30_000, interval: 10 });
    expect((await change({ remove: { allow: [rule] } })).status).toBe(200);
    expect((await running).json).toMatchObject({ exit_code: 0, stdout: "reset\n", stderr: "" });
    await vi.waitFor(
      async () =>
        expect((await log("known.example"))[0]).toMatchObject({
          reason: expect.stringContaining("the policy changed: "),
        }),
      { timeout: 30_000 },
    );
  });
});

describe("where nobody is there to be asked", () => {
  it("[NET-09] an unknown name is refused at once, and no question is made", async () => {
    await using server = await openTestServer("container", { approvals: { attended: false } });
    const operator = await server.as("operator");
    await operator.send("PATCH", "/api/v1/egress/policy", { json: { unknown: "ask" } });
    const id = await operator.create();
    const command = ["python3", "-c", fetching, "http://asked.example/"];
    const { json } = await operator.post(`/api/v1/sandboxes/${id}/exec`, { command });
    expect(JSON.parse(json.stdout)).toMatchObject({ status: 403, details: { host: "asked.example" } });
    expect((await operator.get("/api/v1/approvals")).json).toEqual([]);
    expect(server.errors).toEqual([]);
  });
});
