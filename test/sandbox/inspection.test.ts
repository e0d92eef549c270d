import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createSecureServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { certificate, certificateKey } from "../egress/certificate.ts";
import { dnsHost, openHost, type TestDns, type TestHost } from "../egress/hosts.ts";
import { inspected } from "../egress/inspected.ts";
import { names, tls } from "../egress/rules.ts";
import { engines, hasProgram, openTestCaisson, type TestCaisson } from "../harness.ts";

const scripts = join(import.meta.dirname, "network");

describe.each(engines)("TLS of a sandbox on %s, looked into", (engine) => {
  let home: TestCaisson;
  let sandbox: Sandbox;
  let dns: TestDns;
  let host: TestHost;
  let authorities: string;
  const seen: string[] = [];

  beforeAll(async () => {
    dns = await dnsHost(names);
    const server = createSecureServer(
      { cert: certificate, key: certificateKey, allowHTTP1: true },
      (request, response) => {
        seen.push(`${request.httpVersion} ${request.method} ${request.url} ${request.headers.host ?? ""}`);
        response.end(`${request.httpVersion} ${request.url}`);
      },
    );
    host = await openHost(server);
    authorities = await mkdtemp(join(tmpdir(), "caisson-authorities-"));
    const caFile = join(authorities, "host.pem");
    await writeFile(caFile, certificate);
    home = await openTestCaisson({ network: { dnsServers: [dns.address], caFile } });
    sandbox = await home.caisson.createSandbox({
      engine,
      network: { allow: [{ ...inspected("allowed.example", host.port), methods: ["GET"], paths: ["/v1/*"] }] },
    });
    await sandbox.files.write("/workspace/other.pem", Buffer.from(certificate));
    for (const name of ["inspected.py", "inspected.mjs"])
      await sandbox.files.write(`/workspace/${name}`, await readFile(join(scripts, name)));
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await home?.[Symbol.asyncDispose]();
    for (const one of [dns, host]) await one?.[Symbol.asyncDispose]();
    if (authorities !== undefined) await rm(authorities, { recursive: true });
  });

  async function lines(...command: string[]): Promise<unknown[]> {
    const { stdout, stderr, exit_code: exitCode } = await sandbox.exec({ command });
    expect({ exitCode, stderr: String(stderr) }).toEqual({ exitCode: 0, stderr: "" });
    return String(stdout)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }

  it("[NET-07] [NET-08] lets Python's requests through that its rule lets out, and tells of the others", async () => {
    expect(await lines("python3", "inspected.py", String(host.port))).toEqual([
      ["by proxy", "1.1 /v1/proxy"],
      ["directly", "1.1 /v1/direct"],
      ["on one connection", ["1.1 /v1/1", "1.1 /v1/2"]],
      ["POST", expect.stringContaining("HTTP 403 ")],
      ["another path", expect.stringContaining("no rule lets GET /v2 out")],
      ["fronted", expect.stringContaining('HTTP 400 Host is "other.example"')],
      ["pinned", "CERTIFICATE_VERIFY_FAILED"],
      ["authority", "0o440"],
    ]);
    expect(seen.filter((line) => /front|pinned|POST|v2/.test(line))).toEqual([]);
  });

  it.runIf(hasProgram("node"))("[NET-08] lets Node's fetch through that its rule lets out", async () => {
    expect(await lines("node", "inspected.mjs", String(host.port))).toEqual([
      ["/v1/fetch", 200, "1.1 /v1/fetch"],
      ["/v2/fetch", 403, expect.stringContaining("urn:caisson")],
    ]);
  });

  it.runIf(hasProgram("curl")).each(["--http1.1", "--http2"])(
    "[NET-08] lets curl %s through that its rule lets out",
    async (version) => {
      const curl = async (...options: string[]) => {
        const { stdout, exit_code: exitCode } = await sandbox.exec({ command: ["curl", "-s", version, ...options] });
        return `${exitCode} ${String(stdout).slice(0, 30)}`;
      };
      const expected = version === "--http2" ? "2.0" : "1.1";
      const { stdout } = await sandbox.exec({ command: ["curl", "--version"] });
      if (version === "--http2" && !String(stdout).includes("HTTP2")) return; // one that was built without it
      const url = `https://allowed.example:${host.port}`;
      expect(await curl(`${url}/v1/c`)).toBe(`0 ${expected} /v1/c`);
      expect(await curl("--noproxy", "*", `${url}/v1/d`)).toBe(`0 ${expected} /v1/d`);
      expect(await curl(`${url}/v2/c`)).toMatch(/^0 \{"type":"urn:caiss/);
      expect(await curl("-H", "Host: other.example", `${url}/v1/front`)).toMatch(/^0 \{"type":"urn:caiss/);
      expect(await curl("--cacert", "other.pem", `${url}/v1/pinned`)).toBe("60 ");
      expect(seen.filter((line) => /front|pinned|v2/.test(line))).toEqual([]);
    },
  );

  it.runIf(hasProgram("wget"))(
    "[NET-08] lets wget through, which knows of no variable but the system's bundle",
    async () => {
      const url = `https://allowed.example:${host.port}`;
      const wget = `env -i wget -q -O - --tries=1`;
      const { stdout, exit_code: exitCode } = await sandbox.exec({
        command: `${wget} ${url}/v1/w && ! ${wget} ${url}/v2/w`,
      });
      expect([exitCode, String(stdout)]).toEqual([0, "1.1 /v1/w"]);
    },
  );

  it("[NET-08] lets code of interpreters through that have started before", async () => {
    const url = `https://allowed.example:${host.port}/v1`;
    const codes = {
      python: `import urllib.request; print(urllib.request.urlopen("${url}/warm").read().decode())`,
      node: `console.log(await (await fetch("${url}/warm")).text())`,
    };
    for (const language of ["python", "node"] as const)
      for (let turn = 0; turn < 2; turn++) {
        const { stdout, stderr } = await sandbox.executeCode({ language, code: codes[language] });
        expect({ stdout, stderr }).toEqual({ stdout: "1.1 /v1/warm\n", stderr: "" });
      }
  });

  it("has no variables for an authority where no rule inspects", async () => {
    await using plain = await home.caisson.createSandbox({ engine, network: { allow: [tls("allowed.example")] } });
    const { stdout } = await plain.exec({ command: "env; ls /run/caisson" });
    expect(String(stdout)).not.toMatch(/_CA_|CERT|ca\.pem/);
  });
});
