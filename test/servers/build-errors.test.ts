import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { BuildRequest } from "../../packages/server/src/servers/build-server.ts";
import { ordinary } from "../harness.ts";
import { reachableRegistries, whyLeftOut } from "../packages/can-get.ts";
import { archive } from "../sandbox/tar-bytes.ts";
import { openServerBuilds, packed, type TestBuilds } from "./build-fixture.ts";
import { type MadeRegistries, makeRegistries } from "./made-registries.ts";

const { pip: pipWorks } = ordinary ? { pip: false } : await reachableRegistries(); // the image comes from there
const MiB = 1024 ** 2;

const ask = (lines: string) => `import ssl, urllib.request
def ask(url, **how):
    try:
        request = urllib.request.Request(url, **how)
        urllib.request.urlopen(request, timeout=20, context=ssl._create_unverified_context()).read()
        return "reached"
    except Exception as error:
        return type(error).__name__
${lines}`;

const codes = {
  endless: "import time\ntime.sleep(100_000)",
  large: 'with open("/workspace/large", "wb") as out:\n    while True: out.write(bytes(1024 * 1024))',
  curious: ask(`
with open("/workspace/app/asked.txt", "w") as out:
    out.write(" ".join([ask("URL/simple/plain/"), ask("OTHER/"), ask("URL/simple/plain/", data=b"body"),
      ask("URL/simple/plain/", method="DELETE")]))`),
  stubborn: ask(`\nif ask("OTHER/") != "reached": raise SystemExit(1)`),
};

async function* bytes(body: Buffer): AsyncGenerator<Buffer> {
  yield body;
}
const wants = (name: string) => packed({ "server.py": "", "requirements.txt": `${name}\n` });
const link = (name: string, target: string) => packed({ "server.py": "" }, { name, type: "2", target });

describe.skipIf(!pipWorks)(`builds of servers that fail${pipWorks ? "" : whyLeftOut}`, () => {
  let builds: TestBuilds;
  let made: MadeRegistries;
  beforeAll(async () => {
    made = await makeRegistries(codes);
    builds = await openServerBuilds(made);
  }, 300_000);
  afterAll(async () => {
    await builds?.[Symbol.asyncDispose]();
    await made?.[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    expect(await builds.service.caisson.keptSandboxes()).toEqual([]);
    const layers = await builds.service.layers.list();
    for (const { id } of layers.filter(({ below }) => below.length > 0)) await builds.service.layers.remove(id);
  });

  const fails = async (request: Partial<BuildRequest>, limits = {}) => {
    const error = await builds.build(request, limits).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(await builds.service.layers.list()).toHaveLength(1);
    return error;
  };
  const failure = (step: string, code: string, message: RegExp, hint: RegExp) => ({
    ...{ code, details: { step } },
    message: expect.stringMatching(new RegExp(`^${step}: .*${message.source}`, "s")),
    hint: expect.stringMatching(hint),
  });

  it.each<[string, () => Partial<BuildRequest>, ReturnType<typeof failure>]>([
    [
      "has no requirements.txt, pyproject.toml or package.json",
      () => ({ archive: packed({ "server.py": "" }) }),
      failure("detect", "invalid", /no requirements.txt, pyproject.toml or package.json/, /add a requirements.txt/),
    ],
    [
      "has them in a folder",
      () => ({ archive: packed({ "mine/server.py": "", "mine/requirements.txt": "" }) }),
      failure("detect", "invalid", /no requirements.txt/, /not the folder around them/),
    ],
    [
      "is no tar archive",
      () => ({ archive: bytes(gzipSync("no tar")) }),
      failure("unpack", "invalid", /the archive is refused/, /tar -czf/),
    ],
    [
      "is damaged",
      () => ({ archive: bytes(gzipSync(archive({ name: "a", body: "x".repeat(5_000) })).subarray(0, 40)) }),
      failure("unpack", "invalid", /damaged or cut short/, /tar -czf/),
    ],
    [
      "has a link out of it",
      () => ({ archive: link("l", "/etc/passwd") }),
      failure("unpack", "invalid", /"l" is a link to/, /links stay in the archive/),
    ],
    [
      "names a file outside",
      () => ({ archive: packed({ "../server.py": "" }) }),
      failure("unpack", "invalid", /leads out/, /links stay in the archive/),
    ],
    [
      "has no entry point",
      () => ({ archive: packed({ "tool.py": "", "requirements.txt": "" }) }),
      failure("detect", "invalid", /no entry point/, /set a command/),
    ],
    [
      "has not the file of its command",
      () => ({ archive: wants(""), command: ["python", "other.py"] }),
      failure("entry", "invalid", /the file "other.py"/, /add the file/),
    ],
    [
      "has not the program of its command",
      () => ({ archive: wants(""), command: ["no-such-program"] }),
      failure("entry", "invalid", /the command "no-such-program"/, /set a command/),
    ],
    [
      "has a package.json that names no file",
      () => ({ archive: packed({ "package.json": '{"name": "a", "main": "dist/index.js"}' }) }),
      failure("entry", "invalid", /"dist\/index.js"/, /add the file/),
    ],
    [
      "has a package.json that is no JSON",
      () => ({ archive: packed({ "package.json": "{", "index.js": "" }) }),
      failure("detect", "invalid", /package.json is not valid JSON/, /JSON parser/),
    ],
    [
      "has a pyproject.toml that is no TOML",
      () => ({ archive: packed({ "pyproject.toml": "[", "server.py": "" }) }),
      failure("detect", "invalid", /TOMLDecodeError/, /pyproject.toml/),
    ],
    [
      "needs a package that does not exist",
      () => ({ archive: wants("no-such-package==1.0") }),
      failure("pip", "invalid", /No matching distribution found for no-such-package==1.0/, /names and versions/),
    ],
    [
      "needs a package that connects to a host that is no registry",
      () => ({ archive: wants("stubborn") }),
      failure("pip", "invalid", /refused: other.example/, /package registries/),
    ],
    [
      "is a package that does not exist",
      () => ({ source: { kind: "npm", package: "no-such-node", version: "1.0.0" } }),
      failure("npm", "invalid", /E404|404/, /names and versions/),
    ],
    [
      "is a package without a program",
      () => ({ source: { kind: "npm", package: "plain-node", version: "" } }),
      failure("detect", "invalid", /plain-node has no program/, /set a command/),
    ],
    [
      "is a path for a package",
      () => ({ source: { kind: "pypi", package: "../x", version: "" } }),
      failure("prepare", "invalid", /invalid package name/, /pypi:/),
    ],
  ])("[HOS-01] say which step and what to do, of a source that %s", async (_, request, expected) => {
    expect(await fails(request())).toMatchObject(expected);
  });

  it("[S113] do not read links in place of manifests", async () => {
    const manifest = { "real.json": '{"main": "server.js"}', "server.js": "" };
    const linked = packed(manifest, { name: "package.json", type: "2", target: "real.json" });
    expect(await fails({ archive: linked })).toMatchObject({
      message: /no requirements.txt, pyproject.toml or package.json/,
    });
  });

  it("[S112] end with archives that are too large unpacked, or bombs", async () => {
    const large = () => packed({ "server.py": "", "requirements.txt": "", data: "x".repeat(2 * MiB) });
    expect(await fails({ archive: large() }, { unpackedBytes: MiB })).toMatchObject({
      message: expect.stringMatching(/^unpack: /),
      hint: expect.stringContaining("leave out"),
    });
    const bomb = archive({ name: "zeros", body: Buffer.alloc(64 * MiB) });
    expect(await fails({ archive: bytes(gzipSync(bomb)) })).toMatchObject({
      message: expect.stringMatching(/^unpack: .*unpacks to more than 100 times its size/),
    });
  });

  it("[S112] end with what takes too long, in one step or as a whole", async () => {
    expect(await fails({ archive: wants("endless") }, { stepMs: 2_500 })).toMatchObject(
      failure("pip", "invalid", /it took too long/, /leave out/),
    );
    expect(await fails({ archive: wants("endless") }, { buildMs: 3_000 })).toMatchObject(
      failure("pip", "timeout", /it took too long \(limit: 3 s\)/, /leave out/),
    );
  });

  it("[S112] end when their disk is full", async () => {
    expect(await fails({ archive: wants("large") }, { storageBytes: 128 * MiB })).toMatchObject(
      failure("pip", "invalid", /No space left on device/, /disk/),
    );
  });

  it("[HOS-02] [S116] reach registries alone, with requests that only read, and go on without what is refused", async () => {
    const built = await builds.build({ archive: wants("curious") });
    expect(built.log).toContain(`refused: other.example:${made.other.port}`);
    const { stdout } = await builds.run(built.layerId, "container", "cat /app/asked.txt");
    expect(stdout).toMatch(/^reached \w*Error HTTPError HTTPError$/);
    expect(made.other.requests).toEqual([]);
    expect(new Set(made.host.requests.map(({ method }) => method))).toEqual(new Set(["GET"]));
    // The server has no way to the registry.
    const line = `(exec 3<>/dev/tcp/allowed.example/${made.host.port}) 2>/dev/null && echo reached || echo refused`;
    expect((await builds.run(built.layerId, "container", line)).stdout).toBe("refused\n");
  });
});
