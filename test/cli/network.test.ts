import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dnsHost, type WebHost, webHost } from "../egress/hosts.ts";
import { engines, root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

/** 127.0.0.1 of the host, by the proxy: to a program it is the sandbox's own, and so no proxy is asked about it. */
const script = `
import os, sys, urllib.request
for name in ("NO_PROXY", "no_proxy"): del os.environ[name]
try:
    print(urllib.request.urlopen(sys.argv[1]).read().decode())
except OSError as error:
    print(error)
`;

describe.each(engines)("caisson run on %s", (engine) => {
  let folder: string;
  let host: WebHost;
  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-test-");
    host = await webHost();
    await writeFile(join(folder, "get.py"), script);
  });
  afterAll(async () => {
    await host[Symbol.asyncDispose]();
    const leaks = findLeaks(join(folder, "home"));
    await rm(folder, { recursive: true });
    expect(leaks).toEqual([]);
  });

  function run(
    args: readonly string[],
    variables: Record<string, string> = {},
  ): Promise<{ stdout: string; stderr: string }> {
    const env = { ...process.env, CAISSON_HOME: join(folder, "home"), ...variables };
    return new Promise((resolve) =>
      execFile(join(root, "caisson"), ["run", "--engine", engine, ...args], { env, cwd: folder }, (_, stdout, stderr) =>
        resolve({ stdout, stderr }),
      ).stdin?.end(),
    );
  }

  it("[NET-01] reaches what --allow-domain names", async () => {
    const place = `127.0.0.1:${host.port}`;
    expect(await run(["--allow-domain", place, "get.py", `http://${place}/cli`])).toEqual({
      stdout: "GET /cli 0\n",
      stderr: "",
    });
  });

  it("[NET-01] reaches a private network by a name only where --range names it", async () => {
    await using dns = await dnsHost({ "db.example.com": "127.0.0.1" });
    const variables = { CAISSON_NETWORK_DNS_SERVERS: dns.address };
    const url = `http://db.example.com:${host.port}/cli`;
    const words = ["--allow-domain", `db.example.com:${host.port}/http`, "get.py", url];
    expect((await run(words, variables)).stdout).toMatch(/^HTTP Error 403/);
    expect((await run(["--range", "127.0.0.0/8", ...words], variables)).stdout).toBe("GET /cli 0\n");
  });

  it("[NET-01] reaches nothing else, and says what was refused and how to allow it", async () => {
    const before = host.connections();
    const { stdout, stderr } = await run(["get.py", `http://127.0.0.1:${host.port}/cli`]);
    expect(stdout).toBe("HTTP Error 403: Forbidden\n");
    expect(stderr).toBe(
      `caisson: 127.0.0.1:${host.port} was refused: no rule allows the address 127.0.0.1 (--allow-domain 127.0.0.1:${host.port})\n`,
    );
    expect(host.connections()).toBe(before);
  });
});
