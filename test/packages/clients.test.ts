import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { join, normalize } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AllowRule } from "../../packages/server/src/core/egress.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { certificate } from "../egress/certificate.ts";
import { dnsHost, type TestDns, type WebHost, webHost } from "../egress/hosts.ts";
import { inspected } from "../egress/inspected.ts";
import { names, tls } from "../egress/rules.ts";
import { engines, hasProgram, openTestCaisson, ordinary, type TestCaisson } from "../harness.ts";
import { npmRegistryOf, pipIndex, wheel } from "./made.ts";

const run = promisify(execFile);

/** What this machine's own programs bring from its registries; null where they cannot. */
async function fetchLibraries(): Promise<string | null> {
  const folder = await mkdtemp("/var/tmp/caisson-test-");
  const [python, node] = [join(folder, "python"), join(folder, "node")];
  const pip = ["-m", "pip", "install", "-q", "--no-compile", "--target", python, "requests", "httpx"];
  try {
    await mkdir(node);
    await Promise.all([
      run("/usr/bin/python3", pip, { timeout: 90_000 }),
      run("/usr/bin/npm", ["install", "--silent", "--no-audit", "--prefix", node, "undici@7"], { timeout: 90_000 }),
    ]);
    return folder;
  } catch {
    await rm(folder, { recursive: true, force: true });
    return null;
  }
}

/** A repository with one commit, as a plain web server serves it. */
async function makeRepository(folder: string): Promise<void> {
  const git = (...args: string[]) =>
    run("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], { cwd: folder });
  await git("init", "-q", "work");
  await git("-C", "work", "commit", "-q", "--allow-empty", "-m", "told by git");
  await git("clone", "-q", "--bare", "work", "repo.git");
  await git("-C", "repo.git", "update-server-info");
}

const libraries = ordinary ? null : await fetchLibraries();
const why = libraries === null ? " (left out: this machine's registries do not give them)" : "";

describe.skipIf(ordinary)("programs that people install", () => {
  let folder: string;
  let dns: TestDns;
  let host: WebHost;
  let home: TestCaisson;

  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-test-");
    const caFile = join(folder, "host.pem");
    await writeFile(caFile, certificate);
    if (hasProgram("git")) await makeRepository(folder);
    const index = pipIndex({ "made-1.0-py3-none-any.whl": wheel("made", "1.0") });
    const made = { name: "made", version: "1.0.0", files: { "index.js": "" } };
    const registry = npmRegistryOf([made], () => `https://allowed.example:${host.port}`);
    const answer: RequestListener = (request, response) => {
      const { url = "" } = request;
      if (url.startsWith("/repo.git/")) return void serveFile(folder, url, response);
      if (/^\/(simple|files\/made-)/.test(url)) return index(request, response);
      if (/^\/(made|files\/made\.)/.test(url)) return registry(request, response);
      response.end(`${request.method} ${url}`);
    };
    [dns, host] = await Promise.all([dnsHost(names), webHost({ tls: true, answer })]);
    home = await openTestCaisson({ network: { dnsServers: [dns.address], caFile } });
  });
  afterAll(async () => {
    await home?.[Symbol.asyncDispose]();
    for (const one of [dns, host]) await one?.[Symbol.asyncDispose]();
    for (const path of [folder, libraries]) if (path != null) await rm(path, { recursive: true, force: true });
  });

  const ways: [string, (port: number) => AllowRule][] = [
    ["as it is", (port) => tls("allowed.example", port)],
    ["looked into", (port) => inspected("allowed.example", port)],
  ];

  describe.each(engines)("on %s", (engine) => {
    describe.each(ways)("with TLS %s", (_name, rule) => {
      let sandbox: Sandbox;
      let trusting: Record<string, string>;

      beforeAll(async () => {
        const inputFolder = libraries === null ? {} : { inputFolder: libraries };
        sandbox = await home.caisson.createSandbox({ engine, network: { allow: [rule(host.port)] }, ...inputFolder });
        await sandbox.files.write("/workspace/authority.pem", Buffer.from(certificate));
        for (const name of ["more.py", "more.mjs"])
          await sandbox.files.write(`/workspace/${name}`, await readFile(join(import.meta.dirname, "clients", name)));
        const own = "/workspace/authority.pem";
        const variables = { GIT_SSL_CAINFO: own, PIP_CERT: own, NODE_EXTRA_CA_CERTS: own, npm_config_cafile: own };
        trusting = rule(host.port).inspect === true ? {} : variables;
      });
      afterAll(() => sandbox?.destroy());

      const exec = (command: string) => sandbox.exec({ command, env: trusting, limits: { timeoutMs: 50_000 } });
      const lines = async (command: string) => {
        const { stdout, stderr } = await exec(command);
        expect(stderr).toBe("");
        const told = stdout.trim().split("\n");
        return told.map((line) => JSON.parse(line) as unknown[]);
      };
      const both = (url: (name: string) => string) =>
        Promise.all(["allowed.example", "other.example"].map((name) => exec(url(name))));

      it.skipIf(libraries === null)(`[NET-03] requests and httpx, with and without proxies${why}`, async () => {
        expect(await lines(`python3 more.py ${host.port} allowed.example other.example`)).toEqual([
          ["requests", true, "GET /more", "refused"],
          ["requests", false, "GET /more", "refused"],
          ["httpx", true, "GET /more", "refused"],
          ["httpx", false, "GET /more", "refused"],
        ]);
      });

      it.skipIf(libraries === null)(`[NET-03] undici, with and without the proxy${why}`, async () => {
        expect(await lines(`node --no-warnings more.mjs ${host.port} allowed.example other.example`)).toEqual([
          ["undici", "GET /more", "refused"],
          ["undici, by proxy", "GET /more", "refused"],
        ]);
      });

      it.runIf(hasProgram("git"))("[NET-03] git over https", async () => {
        const clone = (name: string) => `git clone -q https://${name}:${host.port}/repo.git ${name}`;
        const [allowed, other] = await both(clone);
        expect(allowed).toMatchObject({ exit_code: 0 });
        expect(other?.exit_code).toBe(128);
        expect((await exec("git -C allowed.example log --format=%s")).stdout).toBe("told by git\n");
      });

      it("[NET-03] pip and npm, at registries that are hosts like any other", async () => {
        const place = (name: string) => `https://${name}:${host.port}`;
        const pip = (name: string) =>
          `python3 -m pip download -q --retries 0 --no-deps -i ${place(name)}/simple -d ${name} made`;
        const npm = (name: string) =>
          `npm pack --silent --fetch-retries 0 --registry ${place(name)}/ made 2>&1 | tail -1`;
        const [allowed, other] = await both(pip);
        expect(allowed).toMatchObject({ exit_code: 0 });
        expect(other?.exit_code).not.toBe(0);
        const [packed, refused] = await both(npm);
        expect(packed?.stdout).toBe("made-1.0.0.tgz\n");
        expect(refused?.stdout).not.toContain("made-1.0.0");
      });
    });
  });
});

async function serveFile(folder: string, url: string, response: Parameters<RequestListener>[1]): Promise<void> {
  const path = normalize(url.split("?")[0] ?? "");
  try {
    response.end(await readFile(join(folder, path)));
  } catch {
    response.writeHead(404).end();
  }
}
