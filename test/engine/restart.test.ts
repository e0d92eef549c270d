import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listKept } from "../../packages/server/src/engines/oci/kept.ts";
import { findLeaks, idPool, killProcessesOf } from "../leaks.ts";
import { engineNames, limits, makeHome, openEngine, Puppet } from "./fixture.ts";

const MiB = 1024 * 1024;

/** Of a stopped sandbox only its folder and its range of ids may be left. */
function leftOf(home: string): string[] {
  return findLeaks(home).filter((leak) => !leak.startsWith("folder") && !leak.startsWith("uid range"));
}

async function stateOf(home: string, id: string): Promise<string | undefined> {
  const fail = (error: unknown) => {
    throw error;
  };
  return (await listKept(home, fail)).find((kept) => kept.id === id)?.state;
}

/** Files of every kind, with owners, modes, times and bytes that a copy could get wrong. */
const makeTree = `
os.makedirs("/workspace/deep/er", mode=0o750)
open("/workspace/deep/er/bytes", "wb").write(bytes(range(256)) * 5000)
os.chmod("/workspace/deep/er/bytes", 0o4640)
os.symlink("../nowhere", "/workspace/deep/link")
os.link("/workspace/deep/er/bytes", "/workspace/twin")
open("/home/user/.note", "w").write("home")
os.utime("/workspace/twin", (1e9, 1.25e9))
os.chmod("/workspace", 0o711)
`;
const readTree = `
def look(path):
    info = os.lstat(path)
    kind = stat.S_IFMT(info.st_mode)
    body = hashlib.sha256(open(path, "rb").read()).hexdigest() if kind == stat.S_IFREG else os.readlink(path) if kind == stat.S_IFLNK else ""
    size = 0 if kind == stat.S_IFDIR else info.st_size
    return [path, oct(info.st_mode), info.st_uid, info.st_gid, info.st_nlink, info.st_mtime, size, body]
tree = [look(os.path.join(top, name)) for root in ("/workspace", "/home/user") for top, dirs, files in os.walk(root) for name in dirs + files if name != "lost+found"]
tree.sort()
tree.append(look("/workspace"))
`;

describe.each(engineNames)("a stopped sandbox of engine %s", (name) => {
  it("[LIF-05] leaves no process, mount, cgroup, FIFO or loop device, and starts again with the same files", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const made = await engine.create({ limits, keep: true });
    const folder = join(home.home, "engine/sandboxes", made.id);
    let before: unknown;
    {
      using puppet = new Puppet(made);
      await puppet.run("import os, stat, hashlib");
      await puppet.run(makeTree);
      // gVisor's own kernel has the FIFOs and sockets of a workspace, in memory: they go with it.
      if (name === "container") await puppet.run('os.mkfifo("/workspace/pipe", 0o600)');
      await puppet.run(readTree);
      before = await puppet.run("tree");
    }
    expect(JSON.stringify(before)).toContain("/workspace/deep/er/bytes");
    await engine.stop(made.id);
    await engine.stop(made.id);
    expect(leftOf(home.home)).toEqual([]);
    expect(readdirSync(folder).sort()).toEqual(["lock", "owner", "record.json", "workspace.img"]);
    expect(await stateOf(home.home, made.id)).toBe("stopped");
    await expect(engine.attach(made.id)).rejects.toMatchObject({ code: "conflict", message: /is stopped/ });

    const again = await engine.start(made.id);
    expect(again).toEqual(made);
    expect(await stateOf(home.home, made.id)).toBe("running");
    using puppet = new Puppet(again);
    await puppet.run("import os, stat, hashlib");
    await puppet.run(readTree);
    expect(await puppet.run("tree")).toEqual(before);
    await puppet.run('open("/workspace/new", "w").write("1")');
    await engine.destroy(made.id);
    expect(findLeaks(home.home)).toEqual([]);
  });

  it("[LIF-05] starts with other limits, which hold, and not with other storage", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const { id } = await engine.create({ limits, keep: true });
    await engine.stop(id);
    await expect(engine.start(id, { limits: { storageBytes: 128 * MiB } })).rejects.toMatchObject({ code: "invalid" });
    await expect(engine.start(id, { limits: { processes: 0 } })).rejects.toMatchObject({ code: "invalid" });
    const started = await engine.start(id, { limits: { memoryBytes: 128 * MiB, processes: 9 } });
    expect(started.limits).toEqual({ ...limits, memoryBytes: 128 * MiB, processes: 9 });
    expect(started.notEnforced).toEqual([]);
    await engine.stop(id);
    expect((await engine.start(id)).limits).toEqual(started.limits);
    await engine.destroy(id);
  });

  it("[SBX-07] starts again after its runtime was killed, by a new engine too", async () => {
    await using home = await makeHome();
    let id: string;
    {
      await using engine = await openEngine(name, home);
      const made = await engine.create({ limits, keep: true });
      id = made.id;
      using puppet = new Puppet(made);
      await puppet.run('open("/workspace/kept", "w").write("word")');
      const exit = engine.waitExit(id);
      killProcessesOf(id);
      await exit;
      expect(await stateOf(home.home, id)).toBe("ended");
    }
    await using engine = await openEngine(name, home);
    await expect(engine.attach(id)).rejects.toMatchObject({ code: "unavailable" });
    const again = await engine.start(id);
    using puppet = new Puppet(again);
    expect(await puppet.run('open("/workspace/kept").read()')).toBe("word");
    await engine.destroy(id);
  });

  it("[LIF-05] is stopped while paused, and while it has no owner", async () => {
    await using home = await makeHome();
    let id: string;
    {
      await using engine = await openEngine(name, home);
      id = (await engine.create({ limits, keep: true })).id;
      await engine.pause(id);
    }
    expect(await stateOf(home.home, id)).toBe("paused");
    await using engine = await openEngine(name, home);
    await engine.stop(id);
    expect(leftOf(home.home)).toEqual([]);
    using puppet = new Puppet(await engine.start(id));
    expect(await puppet.run("1 + 1")).toBe(2);
    await engine.destroy(id);
  });

  it("[LIF-05] is destroyed with its workspace", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const { id } = await engine.create({ limits, keep: true });
    await Promise.all([engine.stop(id), engine.destroy(id)]);
    expect(findLeaks(home.home)).toEqual([]);
    await expect(engine.start(id)).rejects.toMatchObject({ code: "not_found" });
    await expect(engine.stop(id)).rejects.toMatchObject({ code: "not_found" });
  });

  it("is not started while it runs, nor stopped where it is ephemeral", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    await using other = await openEngine(name, home);
    const { id } = await engine.create({ limits, keep: true });
    await expect(engine.start(id)).rejects.toMatchObject({ code: "conflict" });
    await expect(other.start(id)).rejects.toMatchObject({ code: "conflict" });
    await expect(other.stop(id)).rejects.toMatchObject({ code: "conflict" });
    await engine.detach(id);
    await expect(other.start(id)).rejects.toMatchObject({ code: "conflict", message: /running/ });
    await engine.destroyKept(id);
    const ephemeral = await engine.create({ limits });
    await expect(engine.stop(ephemeral.id)).rejects.toMatchObject({ code: "invalid" });
  });

  it("[LIF-13] holds nothing of its former files once it is reset, whether it ran or not", async () => {
    await using home = await makeHome();
    const input = join(home.home, "given");
    await mkdir(input);
    await writeFile(join(input, "given.txt"), "GIVEN-BEFORE");
    await using engine = await openEngine(name, home);
    const made = await engine.create({ limits, keep: true, inputFolder: input });
    const folder = join(home.home, "engine/sandboxes", made.id);
    const image = join(folder, "workspace.img");
    await mkdir(join(made.ownerFolder, "processes"), { recursive: true });
    for (const reset of ["running", "stopped"]) {
      const running = reset === "running" ? made : await engine.start(made.id);
      {
        using puppet = new Puppet(running);
        await puppet.run('open("/workspace/secret", "w").write("SECRET-OF-BEFORE"); import os; os.sync()');
        await puppet.run('os.chmod("/workspace", 0o700)');
      }
      if (reset === "stopped") {
        await engine.stop(made.id);
        expect((await readFile(image)).includes("SECRET-OF-BEFORE")).toBe(true);
      }
      await engine.reset(made.id);
      expect((await readFile(image)).includes("OF-BEFORE")).toBe(false);
      expect((await readFile(image)).includes("GIVEN-BEFORE")).toBe(false);
      expect(existsSync(made.ownerFolder)).toBe(false);
      expect(leftOf(home.home)).toEqual([]);
      const again = await engine.start(made.id);
      expect(again.notEnforced).toEqual([]);
      using puppet = new Puppet(again);
      await puppet.run("import os");
      expect(await puppet.run('sorted(os.listdir("/workspace"))')).toEqual(["output"]);
      expect(await puppet.run('oct(os.stat("/workspace").st_mode)')).toBe("0o40755");
      expect(await puppet.run('os.listdir("/home/user")')).toEqual([]);
      await engine.stop(made.id);
    }
    await engine.destroyKept(made.id);
  });

  it("keeps its input folder, read-only, and whatever was made of its output folder", async () => {
    await using home = await makeHome();
    const input = join(home.home, "given");
    await mkdir(input);
    await writeFile(join(input, "given.txt"), "given");
    await using engine = await openEngine(name, home);
    const made = await engine.create({ limits, keep: true, inputFolder: input });
    {
      using puppet = new Puppet(made);
      await puppet.run('import os; os.rmdir("/workspace/output"); os.symlink("/etc", "/workspace/output")');
    }
    await engine.stop(made.id);
    using puppet = new Puppet(await engine.start(made.id));
    await puppet.run("import os");
    expect(await puppet.run('open("/workspace/input/given.txt").read()')).toBe("given");
    await expect(puppet.run('open("/workspace/input/given.txt", "w")')).rejects.toThrow(/Read-only|denied/);
    expect(await puppet.run('os.readlink("/workspace/output")')).toBe("/etc");
    await engine.destroy(made.id);
  });

  it("has the ids of its files when the machine forgot who had them", async () => {
    await using home = await makeHome();
    const engine = await openEngine(name, home);
    const { id } = await engine.create({ limits, keep: true });
    await engine.stop(id);
    await engine[Symbol.asyncDispose]();
    const slot = findLeaks(home.home)
      .find((leak) => leak.startsWith("uid range"))
      ?.split(" ")[2];
    await unlink(join(idPool.registry, slot ?? ""));
    await using again = await openEngine(name, home);
    expect(findLeaks(home.home)).toContain(`uid range ${slot}`);
    using puppet = new Puppet(await again.start(id));
    expect(await puppet.run("1 + 1")).toBe(2);
    await again.destroy(id);
  });
});
