import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ordinary, soak } from "../harness.ts";
import { silent } from "../images/fixture.ts";
import { reachableRegistries, whyLeftOut } from "../packages/can-get.ts";
import { openServerBuilds, packed, type TestBuilds } from "./build-fixture.ts";
import { type MadeRegistries, makeRegistries } from "./made-registries.ts";

const { pip: pipWorks } = ordinary ? { pip: false } : await reachableRegistries(); // the image comes from there
const MiB = 1024 ** 2;

/** A project that builds itself: no package has to come from anywhere. */
const project = {
  "pyproject.toml": `[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "mine"
version = "1.0"
dependencies = ["plain==1.0"]
[project.scripts]
mine = "mine:main"
`,
  "backend.py": `import os, zipfile
def build_wheel(folder, *_):
    name = "mine-1.0-py3-none-any.whl"
    info = "mine-1.0.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as out:
        out.writestr("mine.py", "import plain\\ndef main(): print(plain.told())\\n")
        out.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: mine\\nVersion: 1.0\\nRequires-Dist: plain==1.0\\n")
        out.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        out.writestr(info + "entry_points.txt", "[console_scripts]\\nmine = mine:main\\n")
        out.writestr(info + "RECORD", "")
    return name
`,
};
const node = {
  "package.json": '{"name": "mine", "version": "1.0.0", "main": "run.js", "dependencies": {"plain-node": "1.0.0"}}',
};

describe.skipIf(!pipWorks)(`builds of all kinds of sources${pipWorks ? "" : whyLeftOut}`, () => {
  let builds: TestBuilds;
  let made: MadeRegistries;
  beforeAll(async () => {
    made = await makeRegistries({});
    builds = await openServerBuilds({ ...made, keepBytes: 64 * MiB });
  }, 300_000);
  afterAll(async () => {
    await builds?.[Symbol.asyncDispose]();
    await made?.[Symbol.asyncDispose]();
  });
  const removeBuilt = async () => {
    const layers = await builds.service.layers.list();
    const added = layers.filter(({ below }) => below.length > 0);
    for (const { id } of added.sort((one, other) => other.below.length - one.below.length))
      await builds.service.layers.remove(id);
  };
  afterEach(removeBuilt);
  const asked = (end: string) => made.host.requests.filter(({ url }) => url.endsWith(end)).length;

  it.runIf(soak)("[HOS-01] a project of Python with scripts is installed, and its script starts it", async () => {
    const built = await builds.build({ archive: packed(project) });
    expect(built.command).toEqual(["mine"]);
    const { stdout } = await builds.run(built.layerId, "container", "mine; head -n 1 /usr/local/bin/mine");
    expect(stdout).toMatch(/^plain 1\.0\n#!\/usr\/bin\/python3/);
  });

  it("[HOS-01] one that is installed as it lies, and its parts by relative path, are found in /app", async () => {
    const parts = { "requirements.txt": "-r more.txt\n-e ./lib\n", "more.txt": "plain==1.0\n", "server.py": "" };
    const backend = `${project["backend.py"]}
def build_editable(folder, *_):
    name = build_wheel(folder)
    with zipfile.ZipFile(os.path.join(folder, name), "a") as out:
        out.writestr("mine_here.pth", os.getcwd() + "/src\\n")
    return name
`;
    const lib = {
      "lib/pyproject.toml": project["pyproject.toml"],
      "lib/backend.py": backend,
      "lib/src/here.py": "print(__file__)\n",
    };
    const built = await builds.build({ archive: packed({ ...parts, ...lib }) });
    const { stdout, stderr } = await builds.run(built.layerId, "container", "python -c 'import plain, here'");
    expect([stdout, stderr]).toEqual(["/app/lib/src/here.py\n", ""]);
  });

  it.runIf(soak)("[HOS-01] a package of Node has its dependencies beside it, by a lock file too", async () => {
    const run = { "run.js": 'require("plain-node"); console.log("ran")\n' };
    const built = await builds.build({ archive: packed({ ...node, ...run }) });
    expect(built.command).toEqual(["node", "run.js"]);
    expect(built.packages).toEqual([expect.objectContaining({ manager: "npm", name: "plain-node", version: "1.0.0" })]);
    const lock = await builds.run(built.layerId, "container", "cd /app && node run.js >&2; cat package-lock.json");
    expect(lock.stderr).toBe("ran\n");
    const locked = await builds.build({ archive: packed({ ...node, ...run, "package-lock.json": lock.stdout }) });
    expect((await builds.run(locked.layerId, "container", "cd /app && node run.js")).stdout).toBe("ran\n");
    const stale = lock.stdout.replaceAll("1.0.0", "1.0.1");
    await expect(builds.build({ archive: packed({ ...node, ...run, "package-lock.json": stale }) })).rejects.toThrow(
      /^npm: /,
    );
  });

  it.runIf(soak)(
    "[HOS-01] files that only their owner could read are readable, and programs stay programs",
    async () => {
      const archive = packed(
        { "requirements.txt": "", "server.py": "" },
        { name: "shut", type: "5", mode: 0o700 },
        { name: "shut/data", body: "data", mode: 0o600 },
        { name: "tool", body: "#!/bin/sh\necho tool\n", mode: 0o700 },
      );
      const built = await builds.build({ archive, command: ["/app/tool"] });
      expect((await builds.run(built.layerId, "gvisor", "cat /app/shut/data; /app/tool")).stdout).toBe("datatool\n");
    },
  );

  it.runIf(soak)("[HOS-01] other images get /app and /data, and a build lies over all their layers", async () => {
    const text = "rm -r app data; mkdir -p data opt/mine";
    const other = await builds.service.layers.build({ root: builds.image.layerId, over: true }, ({ run }) =>
      run({ name: "change", text }, silent),
    );
    const archive = packed({ "requirements.txt": "plain\n", "server.py": "import plain\nprint(plain.told())\n" });
    const built = await builds.build({ archive, image: { name: "other", layerId: other.id } });
    const line = "cd /app && python server.py; readlink /data; ls /opt";
    expect((await builds.run(built.layerId, "gvisor", line)).stdout).toBe("plain 1.0\n/workspace\nmine\n");
    const bare = await builds.service.layers.build({ root: builds.image.layerId, over: true }, ({ run }) =>
      run({ name: "change", text: "rm usr/bin/bash" }, silent),
    );
    await expect(builds.build({ image: { name: "bare", layerId: bare.id } })).rejects.toMatchObject({
      message: "prepare: the image has no /bin/bash",
      hint: expect.stringContaining("mcp-runtime"),
    });
    await expect(builds.build({ image: { name: "host", layerId: null } })).rejects.toMatchObject({
      message: "the image host cannot hold servers",
      hint: expect.stringContaining("mcp-runtime"),
    });
  });

  it("[HOS-01] [S114] a source says nothing of mounts, users, limits, network or secrets", async () => {
    const wants = {
      mounts: ["/"],
      user: "root",
      limits: { memory: "1t" },
      network: "all",
      secrets: ["KEY"],
      env: { A: "b" },
    };
    const files = {
      "package.json": JSON.stringify({ name: "a", main: "run.js", ...wants, mcp: wants, config: wants }),
      "server.json": JSON.stringify(wants),
      Dockerfile: 'LABEL mounts=/ user=root\nUSER root\nENTRYPOINT ["/bin/sh"]\n',
      "run.js": "",
    };
    const { steps: _, log: __, ...built } = await builds.build({ archive: packed(files) });
    const layer = { layerId: expect.any(String), bytes: expect.any(Number) };
    expect(built).toEqual({ ...layer, command: ["node", "run.js"], packages: [], source: { kind: "archive" } });
  });

  it("[S115] what code of a build writes into reports is listed as a claim, beside what the registry sent", async () => {
    const rows = ["plain", "innocent"].map((name) => ({ metadata: { name, version: "9.9" }, download_info: {} }));
    const forged = { ...node, "package.json": '{"name": "a", "scripts": {"install": "node forge.js"}}' };
    const built = await builds.build({
      archive: packed({
        ...forged,
        "forge.js": `require("fs").writeFileSync("/workspace/.build/pip.json", '${JSON.stringify({ install: rows })}')`,
        "requirements.txt": "plain\n",
        "server.py": "",
      }),
    });
    expect(built.packages.map(({ name, version, claimed }) => [name, version, claimed])).toEqual([
      ["innocent", "9.9", true],
      ["plain", "1.0", false],
      ["plain", "9.9", true],
    ]);
  });

  it("[S117] a build takes its files from the registry, whoever has built with them before", async () => {
    const before = asked(".whl");
    for (const _ of [1, 2]) {
      await builds.build({ archive: packed({ "requirements.txt": "plain\n", "server.py": "" }) });
      await removeBuilt();
    }
    expect(asked(".whl") - before).toBe(2);
    expect(builds.service.downloads?.heldBytes()).toBe(0);
  });

  it("[S112] one whose deployer gives up ends at once, and leaves nothing", async () => {
    const abort = new AbortController();
    const server = builds.build(
      {
        archive: packed({
          "requirements.txt": "",
          "package.json": '{"scripts": {"install": "sleep 1000"}}',
          "server.py": "",
        }),
      },
      {},
      {
        signal: abort.signal,
        onStep: (name) => name === "npm" && setTimeout(() => abort.abort(new Error("gone")), 100),
      },
    );
    await expect(server).rejects.toThrow("gone");
    expect(await builds.service.caisson.keptSandboxes()).toEqual([]);
    expect(await builds.service.layers.list()).toHaveLength(1);
  });
});
