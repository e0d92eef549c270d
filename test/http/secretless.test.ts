import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
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
      answer: ({ headers: { authorization }, url }, response) =>
        void response.setHeader("x-echo", `${authorization}`).end(url === "/echo" ? `got ${authorization}` : "done"),
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

  it("[S86] is not looked for in output, until the host sends it back: then it is masked, told and written down", async () => {
    const value = `sk-${randomBytes(12).toString("hex")}`;
    const deliver = { as: "header", header: "Authorization", hosts: ["allowed.example"], format: "Bearer {}" };
    await operator.put("/api/v1/secrets/ECHO_KEY", value);
    const rule = { port: host.port, protocol: "tls", ranges: ["127.0.0.0/8"], inspect: true };
    const id = await operator.create({ network: { allow: [{ host: "allowed.example", ...rule }] } });
    const binding = { target: { sandbox_id: id }, deliver: { ...deliver, variable: "ECHO" } };
    expect((await operator.post("/api/v1/secrets/ECHO_KEY/bindings", binding)).status).toBe(201);
    const run = async (command: string[] | string) => {
      const { json } = await operator.post(`/api/v1/sandboxes/${id}/exec`, { command });
      return `${json.stdout}${json.stderr}`;
    };
    for (const guess of [value, value.slice(0, 12), `${value.slice(0, 11)}?`])
      expect(await run(["printf", "%s", guess])).toBe(guess);
    const call = `import os, urllib.request
headers = {"Authorization": "Bearer " + os.environ["ECHO"]}
for _ in range(2): print(urllib.request.urlopen(urllib.request.Request("https://allowed.example:${host.port}/echo", headers=headers), timeout=60).read().decode())`;
    expect(await run(["python3", "-c", call])).toBe("got Bearer ***REDACTED***\n".repeat(2));
    expect(await run(["printf", "%s", value])).toBe("***REDACTED***");
    const rows = await server.store.audit.search({ type: "secret.echoed", limit: 10 });
    expect(rows.map(({ sandboxId, detail }) => [sandboxId, detail])).toEqual([
      [id, { secret: "ECHO_KEY", host: "allowed.example" }],
    ]);
  });

  it("[S86] that is inside is masked as a whole; its beginnings are printed as they are, and told of where they are many", async () => {
    const value = "sk-Xq7bLm2Rt9Vw4Zc8Yn1Ks";
    await operator.put("/api/v1/secrets/INSIDE_KEY", value);
    const id = await operator.create();
    const binding = { target: { sandbox_id: id }, deliver: { as: "env", variable: "INSIDE" } };
    expect((await operator.post("/api/v1/secrets/INSIDE_KEY/bindings", binding)).status).toBe(201);
    const exec = async (command: string) => (await operator.post(`/api/v1/sandboxes/${id}/exec`, { command })).json;
    for (const [command, stdout] of [
      ['printf %s "$INSIDE"', "***REDACTED***"],
      ['printf %s "$INSIDE" | head -c 12', value.slice(0, 12)],
      ['printf %s "$INSIDE" | head -c 11; printf ?', `${value.slice(0, 11)}?`],
      ['printf %s "$INSIDE" | head -c 23', value.slice(0, 23)],
    ] as const)
      expect(await exec(command)).toMatchObject({ stdout });
    const search = () => server.store.audit.search({ type: "secret.probing", limit: 10 });
    expect(await search()).toEqual([]);
    await exec('half=$(printf %s "$INSIDE" | head -c 12); for i in $(seq 100); do echo "$half$i"; done');
    await vi.waitFor(async () => expect((await search()).map(({ sandboxId }) => sandboxId)).toEqual([id]));
  });

  it("[S95] is in nothing that the daemon keeps or tells of a host's name that it stands in", async () => {
    const value = "sk-Nf8sWq3Lz6Rb1Xt4Mc7Vg";
    await operator.put("/api/v1/secrets/NAME_KEY", value);
    const id = await operator.create({ network: { allow: ["*.example.net"], unknown: "ask" } });
    const binding = { target: { sandbox_id: id }, deliver: { as: "env", variable: "NAMED" } };
    await operator.post("/api/v1/secrets/NAME_KEY/bindings", binding);
    const code = `import os, socket, urllib.request
value = os.environ["NAMED"]
for name in (value, value.lower(), value.encode().hex()):
  for domain in ("example.net", "example.org"):
    try: socket.getaddrinfo(name + "." + domain, 80)
    except OSError: pass
    try: urllib.request.urlopen("http://" + name + "." + domain + "/", timeout=60)
    except OSError as error: print(error)`;
    const { json } = await operator.post(`/api/v1/sandboxes/${id}/exec`, { command: ["python3", "-c", code] });
    expect(json.stdout).toBe("HTTP Error 403: Forbidden\n".repeat(6));
    const told = [
      json,
      (await operator.get(`/api/v1/egress/log?sandbox_id=${id}`)).json,
      (await operator.get("/api/v1/approvals")).json,
      await server.store.audit.search({ limit: 1_000 }),
    ].map((one) => JSON.stringify(one).toLowerCase());
    const forms = [value, value.toLowerCase(), Buffer.from(value).toString("hex")];
    for (const form of forms) {
      for (const one of told) expect(one).not.toContain(form.toLowerCase());
      expect(await filesWith(server.home, Buffer.from(form))).toEqual([]);
    }
    expect(told[0]).toContain("***redacted***.example.net");
    expect(told[1]).toContain("***redacted***.example.net");
    expect(told[3]).toContain("holds a secret of this sandbox");
  });

  it("[S86] cut by the limit of an output leaves no part of it", async () => {
    const value = "sk-Hd5uPe0Jx3Ga6Ti9Wo2Bf";
    await operator.put("/api/v1/secrets/CUT_KEY", value);
    const id = await operator.create();
    const binding = { target: { sandbox_id: id }, deliver: { as: "env", variable: "CUT" } };
    await operator.post("/api/v1/secrets/CUT_KEY/bindings", binding);
    for (const over of [1, 6, 12, 18]) {
      const body = {
        command: `head -c 1024 /dev/zero | tr '\\0' x; printf %s "$CUT"`,
        resource_limits: { max_output_bytes: 1024 + over },
      };
      const { json } = await operator.post(`/api/v1/sandboxes/${id}/exec`, body);
      expect(json.stdout).toBe(`${"x".repeat(1024)}${"***REDACTED***".slice(0, over)}`);
    }
  });
});
