import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JournalEvent } from "../../packages/server/src/core/journal.ts";
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
import { npmRegistryOf, pipIndex, sourceArchive, wheel } from "./made.ts";

const hasPip = (await builtIn("pip")) !== null;
const hasNpm = (await builtIn("npm")) !== null;
const sha256 = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** What code of a package can reach as it is installed: a line each, into a file. */
const probe = (registry: string, other: string) => `
import urllib.request, ssl
with open("/workspace/probe.txt", "w") as out:
    for url in ("${registry}", "${other}"):
        try:
            urllib.request.urlopen(url, timeout=20, context=ssl._create_unverified_context()).read()
            out.write("reached\\n")
        except Exception as error:
            out.write(type(error).__name__ + "\\n")`;

const nodeProbe = (registry: string, other: string) => `
const { execFileSync } = require("node:child_process");
const look = (url) => { try { execFileSync("python3", ["-c", "import sys, urllib.request, ssl; urllib.request.urlopen(sys.argv[1], timeout=20, context=ssl._create_unverified_context()).read()", url], { stdio: "ignore" }); return "reached"; } catch { return "refused"; } };
require("node:fs").writeFileSync("/workspace/probe.txt", ["${registry}", "${other}"].map(look).join("\\n") + "\\n");`;

describe.each(engines)("packages on %s", (engine) => {
  let server: TestServer;
  let dns: TestDns;
  let index: WebHost;
  let registry: WebHost;
  let other: WebHost;
  let folder: string;
  let api: Api;
  let id: string;
  const events: JournalEvent[] = [];
  /** Answers that the index keeps back. */
  const held: ServerResponse[] = [];
  const [first, second] = [wheel("caissontest", "1.0"), wheel("caissontest", "2.0")];

  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-test-");
    dns = await dnsHost(names);
    other = await webHost({ tls: true });
    const elsewhere = `https://other.example:${other.port}/`;
    const files: Record<string, Buffer> = {
      "caissontest-1.0-py3-none-any.whl": first,
      "caissontest-2.0-py3-none-any.whl": second,
    };
    index = await webHost({
      tls: true,
      answer: (request, response) => {
        if (request.url?.startsWith("/simple/slow/") !== true) return pipIndex(files)(request, response);
        held.push(response);
      },
    });
    const pipUrl = `https://allowed.example:${index.port}`;
    const code = probe(`${pipUrl}/simple/caissontest/`, elsewhere);
    files["prober-1.0.tar.gz"] = sourceArchive("prober", "1.0", code, wheel("prober", "1.0"));
    const base = () => `https://allowed.example:${registry.port}`;
    const node = [
      { name: "caisson-test", version: "1.2.3", files: { "index.js": 'exports.told = "one"' } },
      { name: "@caisson/scoped", version: "0.1.0", files: { "index.js": 'exports.told = "scoped"' } },
    ];
    registry = await webHost({
      tls: true,
      answer: (...call) => {
        const script = nodeProbe(`${base()}/caisson-test`, elsewhere);
        const scripts = { install: "node probe.js" };
        const prober = { name: "prober", version: "1.0.0", scripts, files: { "probe.js": script, "index.js": "" } };
        return npmRegistryOf([...node, prober], base)(...call);
      },
    });
    await writeFile(join(folder, "authority.pem"), certificate);
    await writeFile(
      join(folder, "pip.conf"),
      `[global]\nindex-url = ${pipUrl}/simple/\ncert = ${join(folder, "authority.pem")}\n`,
    );
    await writeFile(
      join(folder, ".npmrc"),
      `registry=${base()}/\n@caisson:registry=${base()}\ncafile=${join(folder, "authority.pem")}\n`,
    );
    const own = hostFiles({ HOME: folder, PIP_CONFIG_FILE: join(folder, "pip.conf") }, checkAllowRule);
    const text = async (path: string) => (path.startsWith(folder) ? own.text(path) : undefined);
    const registries = await readRegistries({ ...own, text });
    server = await openTestServer(engine, {
      network: { dnsServers: [dns.address] },
      packages: { registries, mustPin: false },
    });
    api = await server.as("agent");
    id = await api.create();
    void (async () => {
      for await (const event of server.journal.read({ types: ["package.installed"] }))
        events.push(event as JournalEvent);
    })();
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    for (const host of [dns, index, registry, other]) await host?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const at = (rest: string) => `/api/v1/sandboxes/${id}/${rest}`;
  const install = (json: object) => api.post(at("packages"), json);
  const python = async (code: string) => (await api.post(at("execute_code"), { language: "python", code })).json;
  const write = (path: string, body: string) => api.send("PUT", at(`files/${path}`), { body });
  const probed = async () => (await api.get(at("files/probe.txt"))).bytes.toString().trim().split("\n");

  it.runIf(hasPip)("[EXE-10] installs a package of pip where every run finds it, and tells what it was", async () => {
    expect((await python("import caissontest")).exit_code).toBe(1);
    const { status, json } = await install({ manager: "pip", packages: ["caissontest==1.0"] });
    expect([status, json.exit_code, json.output]).toEqual([200, 0, expect.any(String)]);
    const told = { name: "caissontest", version: "1.0", hash: sha256(first) };
    expect(json.installed).toEqual([told]);
    for (let times = 0; times < 2; times++)
      expect((await python("import caissontest; print(caissontest.told())")).stdout).toBe("caissontest 1.0\n");
    expect((await api.get(at("packages"))).json).toMatchObject([{ manager: "pip", ...told }]);
    const [row] = await server.store.audit.search({ type: "package.installed", sandboxId: id });
    expect(row?.detail).toMatchObject({ manager: "pip", count: 1, packages: [told] });
    await expect
      .poll(() => events)
      .toContainEqual(expect.objectContaining({ sandbox_id: id, data: expect.objectContaining({ packages: [told] }) }));
  });

  it.runIf(hasPip)(
    "[NET-13] lets an installation reach the registry and no other host, and nothing after it",
    async () => {
      const { json } = await install({ manager: "pip", packages: ["prober"] });
      expect([json.exit_code, json.output]).toEqual([0, expect.any(String)]);
      expect(await probed()).toEqual(["reached", "URLError"]);
      expect(other.connections()).toBe(0);
      const before = index.connections();
      const url = `https://allowed.example:${index.port}/simple/caissontest/`;
      const { exit_code: code } = await python(`import urllib.request; urllib.request.urlopen("${url}", timeout=20)`);
      expect([code, index.connections()]).toEqual([1, before]);
    },
  );

  it.runIf(hasPip)("[EXE-10] installs by a lockfile what has the hashes it names, and nothing else", async () => {
    await write("right.txt", `caissontest==2.0 --hash=${sha256(second)}\n`);
    const right = await install({ manager: "pip", lockfile: "right.txt" });
    expect(right.json).toMatchObject({ exit_code: 0, installed: [{ version: "2.0", hash: sha256(second) }] });
    expect((await python("import caissontest; print(caissontest.told())")).stdout).toBe("caissontest 2.0\n");
    await write("wrong.txt", `caissontest==1.0 --hash=${sha256(second)}\n`);
    const wrong = await install({ manager: "pip", lockfile: "wrong.txt" });
    expect([wrong.json.exit_code, wrong.json.installed]).toEqual([1, []]);
    await write("none.txt", "caissontest==1.0\n");
    expect((await install({ manager: "pip", lockfile: "none.txt" })).json.exit_code).toBe(1);
    expect((await api.get(at("packages"))).json).toMatchObject([{ name: "caissontest", version: "2.0" }, {}]);
  });

  it.runIf(hasPip)(
    "[NET-13] closes the way to the registry when the client goes, and installs one at a time",
    async () => {
      const policies = await server.caisson.policies();
      const own = await api.create();
      const layers = () => policies.policyOf(own).map(({ layer }) => layer);
      expect(layers()).not.toContain("registry");
      const leaving = new AbortController();
      const slow = { manager: "pip", packages: ["slow"] };
      const path = `/api/v1/sandboxes/${own}/packages`;
      const first = api.send("POST", path, { json: slow, signal: leaving.signal });
      await expect.poll(() => held.length, { timeout: 50_000 }).toBe(1);
      expect(layers()).toContain("registry");
      expect((await api.post(path, slow)).status).toBe(409);
      leaving.abort();
      await expect(first).rejects.toThrow("abort");
      await expect.poll(layers, { timeout: 50_000 }).not.toContain("registry");
    },
  );

  it.runIf(hasNpm)("[EXE-10] installs packages of npm, of scopes too, from the registries of each", async () => {
    const { json } = await install({ manager: "npm", packages: ["caisson-test@1.2.3", "@caisson/scoped"] });
    expect([json.exit_code, json.output]).toEqual([0, expect.any(String)]);
    const hash = expect.stringMatching(/^sha512-/);
    expect(json.installed).toEqual([
      { name: "@caisson/scoped", version: "0.1.0", hash },
      { name: "caisson-test", version: "1.2.3", hash },
    ]);
    const code = 'console.log(require("caisson-test").told, require("@caisson/scoped").told)';
    expect((await api.post(at("execute_code"), { language: "node", code })).json.stdout).toBe("one scoped\n");
    await api.post(at("exec"), { command: "rm -r node_modules" });
    const again = await install({ manager: "npm", lockfile: "package-lock.json" });
    expect(again.json).toMatchObject({ exit_code: 0, installed: [{ version: "0.1.0" }, { version: "1.2.3" }] });
  });

  it.runIf(hasNpm)("[NET-13] lets what a package of npm runs reach the registry and no other host", async () => {
    const { json } = await install({ manager: "npm", packages: ["prober"] });
    expect([json.exit_code, json.output]).toEqual([0, expect.any(String)]);
    expect(await probed()).toEqual(["reached", "refused"]);
    expect(other.connections()).toBe(0);
  });

  it("[EXE-10] takes no option, path or URL for a package", async () => {
    const specs = ["--index-url=x", "./x", "git+https://other.example/x", "x @ https://other.example/x.whl", "x;y"];
    for (const name of specs) {
      const { status, json } = await api.post(at("packages"), { manager: "pip", packages: [name] }, { bad: true });
      expect([name, status, json.code]).toEqual([name, 400, "invalid"]);
    }
    for (const name of ["-g", "../x", "file:x", "x@https://other.example/x.tgz", "x@npm:y", "github:a/b"])
      expect((await api.post(at("packages"), { manager: "npm", packages: [name] }, { bad: true })).status).toBe(400);
  });

  it("shows another namespace neither the sandbox nor its packages", async () => {
    const stranger = await server.as("operator", "elsewhere");
    expect((await stranger.get(at("packages"))).status).toBe(404);
    expect((await stranger.post(at("packages"), { manager: "pip", packages: ["caissontest"] })).status).toBe(404);
  });
});
