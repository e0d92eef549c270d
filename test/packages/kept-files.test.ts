import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkAllowRule } from "../../packages/server/src/egress/check-rule.ts";
import { builtIn } from "../../packages/server/src/package-install/built-in.ts";
import { hostFiles } from "../../packages/server/src/package-install/machine-files.ts";
import { readRegistries } from "../../packages/server/src/package-install/read-registries.ts";
import { certificate } from "../egress/certificate.ts";
import { dnsHost, type TestDns, type WebHost, webHost } from "../egress/hosts.ts";
import { names } from "../egress/rules.ts";
import { engines } from "../harness.ts";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { npmRegistryOf, pipIndex, wheel } from "./made.ts";

const hasPip = (await builtIn("pip")) !== null;
const hasNpm = (await builtIn("npm")) !== null;
const [engine = "container"] = engines;
const MiB = 1024 ** 2;

describe("files of registries", () => {
  let server: TestServer;
  let dns: TestDns;
  let host: WebHost;
  let folder: string;
  const made = wheel("caissonkept", "1.0");

  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-test-");
    dns = await dnsHost(names);
    const index = pipIndex({ "caissonkept-1.0-py3-none-any.whl": made });
    const base = () => `https://allowed.example:${host.port}`;
    const files = { "index.js": 'exports.told = "kept"' };
    const registry = npmRegistryOf([{ name: "caisson-kept", version: "1.0.0", files }], base);
    host = await webHost({
      tls: true,
      answer: (request, response) => {
        const { url = "" } = request;
        if (url.startsWith("/echo/")) return void response.end(JSON.stringify(request.headers));
        return url.includes("caisson-kept") ? registry(request, response) : index(request, response);
      },
    });
    const caFile = join(folder, "authority.pem");
    await writeFile(caFile, certificate);
    await writeFile(join(folder, "pip.conf"), `[global]\nindex-url = ${base()}/simple/\n`);
    await writeFile(join(folder, ".npmrc"), `registry=${base()}/\n`);
    const own = hostFiles({ HOME: folder, PIP_CONFIG_FILE: join(folder, "pip.conf") }, checkAllowRule);
    const text = async (path: string) => (path.startsWith(folder) ? own.text(path) : undefined);
    const registries = await readRegistries({ ...own, text });
    server = await openTestServer(engine, {
      network: { dnsServers: [dns.address], caFile },
      packages: { registries, mustPin: false, keepBytes: 8 * MiB },
    });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    expect(server?.errors).toEqual([]);
    for (const one of [dns, host]) await one?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const asked = (word: string) => host.requests.filter(({ url }) => url.includes(word)).length;
  const downloads = () => join(server.home, "daemon/downloads");
  const install = async (api: Api, manager: string, name: string) => {
    const id = await api.create();
    const { json } = await api.post(`/api/v1/sandboxes/${id}/packages`, { manager, packages: [name] });
    return { id, ...json };
  };

  it.runIf(hasPip)("[EXE-10] come from the registry once, and the next namespace has the same bytes", async () => {
    const [first, second] = [await server.as("agent"), await server.as("agent", "elsewhere")];
    const one = await install(first, "pip", "caissonkept");
    expect([one.exit_code, one.output]).toEqual([0, expect.any(String)]);
    const two = await install(second, "pip", "caissonkept");
    expect(two.installed).toEqual(one.installed);
    expect([asked(".whl"), asked("/simple/")]).toEqual([1, 2]);
    const [name = ""] = await readdir(downloads());
    expect((await readFile(join(downloads(), name))).equals(made)).toBe(true);
    const code = "import caissonkept; print(caissonkept.told())";
    const { json } = await second.post(`/api/v1/sandboxes/${two.id}/execute_code`, { language: "python", code });
    expect(json.stdout).toBe("caissonkept 1.0\n");
  });

  it.runIf(hasNpm)("[EXE-10] of npm likewise", async () => {
    for (const namespace of ["default", "elsewhere"]) {
      const { exit_code: code, installed } = await install(await server.as("agent", namespace), "npm", "caisson-kept");
      expect([code, installed]).toEqual([0, [expect.objectContaining({ name: "caisson-kept" })]]);
    }
    expect(asked(".tgz")).toBe(1);
  });
});
