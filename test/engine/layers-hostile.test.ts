import { existsSync, readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { prepareHostImage } from "../../packages/server/src/engines/root/host-image.ts";
import { findLeaks } from "../leaks.ts";
import { engineNames, limits, makeHome, openEngine, Puppet } from "./fixture.ts";
import { freezeTree, makeRoot } from "./layer-trees.ts";

/** An engine that binds a file and a folder of its own into every root, and a folder of the host that must stay as it is. */
async function openBinding(name: "container" | "gvisor", home: Awaited<ReturnType<typeof makeHome>>) {
  const outside = join(home.home, "outside");
  const ours = join(home.home, "ours");
  for (const folder of [outside, ours]) await mkdir(folder);
  await writeFile(join(outside, "secret"), "of the host", { mode: 0o644 });
  await writeFile(join(ours, "file"), "ours", { mode: 0o644 });
  const image = {
    ...(await prepareHostImage({ home: home.home })),
    additions: [
      { kind: "bind", path: "/opt/caisson/folder", source: ours },
      { kind: "bind", path: "/etc/ours", source: join(ours, "file") },
      { kind: "bind", path: "/srv/deep/er/file", source: join(ours, "file") },
    ] as const,
  };
  return { engine: await openEngine(name, home, { image }), outside };
}

const own = ["tmp", "proc", "dev", "sys", "run", "workspace", "home", "root", ".caisson"];

/** Links out wherever a sandbox has something of its own. */
const linksOut = (outside: string) => `
import shutil
shutil.rmtree("/workspace/etc"); shutil.rmtree("/workspace/opt")
for name in ["etc", "opt", "srv"] + ${JSON.stringify(own)}: os.symlink("${outside}", "/workspace/" + name)
os.symlink("/", "/workspace/top"); os.symlink("../../../../..", "/workspace/up")
`;

/** Links out one level below, and odd kinds in place of files. */
const linksBelow = (outside: string) => `
for name in ("resolv.conf", "hosts", "passwd", "ours", "ssl"):
    if os.path.lexists("/workspace/etc/" + name): os.remove("/workspace/etc/" + name)
os.symlink("${outside}/resolv.conf", "/workspace/etc/resolv.conf")
os.symlink("${outside}", "/workspace/etc/ssl"); os.symlink("../../../../../..${outside}/made", "/workspace/etc/ours")
os.mkfifo("/workspace/etc/group")
os.makedirs("/workspace/etc/hosts/folder"); os.mkdir("/workspace/srv", 0o700)
os.symlink("${outside}", "/workspace/srv/deep"); os.symlink("${outside}", "/workspace/opt/caisson")
os.mkfifo("/workspace/pipe"); open("/workspace/plain", "w").write("x")
for n in range(3000): open("/workspace/file%d" % n, "w")
shutil.copy("/usr/bin/env", "/workspace/usr/bin/env"); os.chmod("/workspace/usr/bin/env", 0o6755)
`;

describe.each(engineNames)("a root of engine %s that is a stranger's tree", (name) => {
  it.each([
    ["has links out at its top", linksOut],
    ["has links out below, FIFOs, folders in place of files, and thousands of entries", linksBelow],
  ])("leads the helper nowhere when it %s", async (_, make) => {
    await using home = await makeHome();
    const { engine, outside } = await openBinding(name, home);
    await using _closed = engine;
    await using builder = await openEngine("container", home);
    const layer = await freezeTree(builder, `${makeRoot}\nimport shutil\n${make(outside)}`);
    using puppet = new Puppet(await engine.create({ limits, root: layer.id }));
    const ours = ["/etc/ours", "/srv/deep/er/file", "/opt/caisson/folder/file"];
    for (const path of ours) expect([path, await puppet.run(`open("${path}").read()`)]).toEqual([path, "ours"]);
    expect(await puppet.run('open("/etc/resolv.conf").read()')).toContain("127.64.0.1");
    expect(await puppet.run('open("/etc/passwd").read()')).toContain("user:x:1000");
    expect(await puppet.run('os.readlink("/etc/ssl/certs/ca-certificates.crt")')).toBe("/run/caisson/ca-bundle.pem");
    // No link of it leads out of the sandbox either.
    expect(await puppet.run(`os.path.exists("${outside}")`)).toBe(false);
    expect(await puppet.run('open("/tmp/x", "w").write("1")')).toBe(1);
    expect(await puppet.run(`[n for n in ${JSON.stringify(own)} if os.path.islink("/" + n)]`)).toEqual([]);
    expect(readdirSync(outside)).toEqual(["secret"]);
  });

  it("cannot give its user rights by a mode", async () => {
    await using home = await makeHome();
    await using builder = await openEngine("container", home);
    await using engine = await openEngine(name, home);
    const raised = `shutil.copy(program, "/workspace/usr/bin/raised"); os.chmod("/workspace/usr/bin/raised", 0o6755)`;
    const layer = await freezeTree(builder, `${makeRoot}\n${raised}`);
    using puppet = new Puppet(await engine.create({ limits, root: layer.id }));
    expect(await puppet.run('[os.stat("/usr/bin/raised").st_uid, oct(os.stat("/usr/bin/raised").st_mode)]')).toEqual([
      0,
      "0o106755",
    ]);
    const code = "import os; os._exit(7 if os.geteuid() == 1000 and os.getegid() == 1000 else 1)";
    expect(await puppet.run(`os.spawnv(os.P_WAIT, "/usr/bin/raised", ["raised", "-IS", "-c", "${code}"])`)).toBe(7);
    const mounts = String(await puppet.run('open("/proc/mounts").read()'));
    // gVisor's own kernel has one mount for the whole root, and no setuid.
    for (const place of name === "container" ? ["/usr", "/etc", "/opt"] : []) {
      const [, , , options = ""] =
        mounts
          .split("\n")
          .map((line) => line.split(" "))
          .find((line) => line[1] === place) ?? [];
      expect(options.split(",")).toEqual(expect.arrayContaining(["ro", "nosuid", "nodev"]));
    }
  });

  it("is refused with more folders and links at its top than a root has, and leaves nothing", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const layer = await freezeTree(engine, 'for n in range(2000): os.mkdir("/workspace/%d" % n)');
    const refused = engine.create({ limits, root: layer.id });
    await expect(refused).rejects.toMatchObject({ message: /more than 128 folders and links/ });
    expect(findLeaks(home.home).filter((leak) => !leak.startsWith("process") && !leak.includes("/layers/"))).toEqual(
      [],
    );
    expect(existsSync(join(home.home, "engine/sandboxes"))).toBe(true);
  });
});
