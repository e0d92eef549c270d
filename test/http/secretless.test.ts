import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { certificate } from "../egress/certificate.ts";
import { dnsHost, type TestDns, type WebHost, webHost } from "../egress/hosts.ts";
import { names } from "../egress/rules.ts";
import { engines } from "../harness.ts";
import { filesWith } from "../vault/fixture.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const script = join(import.meta.dirname, "../sandbox/network/secretless.py");

describe.each(engines)("a secret for requests to one host, on %s", (engine) => {
  let server: TestServer;
  let dns: TestDns;
  let host: WebHost;
  let operator: Api;
  let folder: string;
  beforeAll(async () => {
    dns = await dnsHost(names);
    host = await webHost({
      tls: true,
      answer: (request, response) => void response.setHeader("x-echo", `${request.headers.authorization}`).end("done"),
    });
    folder = await mkdtemp(join(tmpdir(), "caisson-secretless-"));
    const caFile = join(folder, "host.pem");
    await writeFile(caFile, certificate);
    server = await openTestServer(engine, { network: { dnsServers: [dns.address], caFile } });
    operator = await server.as("operator");
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    for (const one of [dns, host]) await one?.[Symbol.asyncDispose]();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  it("[NET-12] is what that host gets, and nothing in the sandbox or in what the daemon keeps", async () => {
    const value = `sk-${randomBytes(16).toString("hex")}`;
    const deliver = { as: "header", header: "Authorization", hosts: ["allowed.example"], format: "Bearer {}" };
    expect((await operator.put("/api/v1/secrets/API_KEY", value)).status).toBe(201);
    const binding = { target: { all: true }, deliver: { ...deliver, variable: "TOKEN" } };
    expect((await operator.post("/api/v1/secrets/API_KEY/bindings", binding)).status).toBe(201);
    const rule = { port: host.port, protocol: "tls", ranges: ["127.0.0.0/8"], inspect: true };
    const allow = ["allowed.example", "other.example"].map((name) => ({ host: name, ...rule }));
    const id = await operator.create({ network: { allow } });
    await operator.put(`/api/v1/sandboxes/${id}/files/call.py`, await readFile(script));
    const masked = Buffer.from(value).map((byte) => byte ^ 0x5a);
    const { json } = await operator.post(`/api/v1/sandboxes/${id}/exec`, {
      command: ["python3", "call.py", String(host.port), Buffer.from(masked).toString("hex")],
    });
    expect(json).toMatchObject({ exit_code: 0, stderr: "" });
    const told = new Map<string, unknown>(
      String(json.stdout)
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    );
    expect(told.get("bound")).toEqual([200, expect.stringMatching(/^Bearer caisson-secret-[0-9a-f]{40}$/), "done"]);
    expect(told.get("not bound")).toEqual([403, expect.stringContaining("API_KEY is not bound to other.example")]);
    expect(host.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${value}`]);
    expect(told.get("looked")).toEqual(expect.arrayContaining(["environ", "files", "memory"]));
    expect(told.get("the value")).toEqual([]);
    expect(told.get("the placeholder")).toBe(true);
    const { json: log } = await operator.get(`/api/v1/egress/log?sandbox_id=${id}`);
    expect(JSON.stringify(log)).toContain("API_KEY is not bound to other.example");
    const audit = JSON.stringify(await server.store.audit.search({ limit: 1_000 }));
    expect(audit).toContain('"host":"allowed.example"');
    expect(audit).not.toContain(value);
    expect(await filesWith(server.home, Buffer.from(value))).toEqual([]);
    expect(server.errors).toEqual([]);
  });
});
