import { existsSync, readdirSync } from "node:fs";
import { mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CreatedSandbox, Engine } from "../../packages/server/src/core/engine.ts";
import { layerLimits } from "../../packages/server/src/engines/layer-limits.ts";
import { ordinary } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import { engineNames, limits, makeHome, Puppet } from "./fixture.ts";
import { freezeTree, makeRoot, openTidyEngine } from "./layer-trees.ts";

const note = (text: string) => `open("/workspace/note", "w").write("${text}")`;
const readNote = 'open("/workspace/note").read()';

async function ask(sandbox: CreatedSandbox, ...codes: string[]): Promise<unknown> {
  using puppet = new Puppet(sandbox);
  let answer: unknown;
  for (const code of codes) answer = await puppet.run(code);
  return answer;
}

/** A frozen sandbox that lives on, started again. */
async function fork(engine: Engine, id: string) {
  const layer = await engine.freeze(id, { keep: true });
  return { layer, sandbox: await engine.start(id) };
}

describe.each(engineNames)("layers of engine %s", (name) => {
  it("[IMG-01] are frozen volumes that sandboxes share, each with its own changes", async () => {
    await using home = await makeHome();
    await using engine = await openTidyEngine(name, home);
    const layer = await freezeTree(
      engine,
      `${note("frozen")}
os.makedirs("/workspace/folder/deep")
open("/workspace/folder/deep/file", "w").write("deep")
os.chmod("/workspace", 0o750)
open("/home/user/.own", "w").write("home")`,
    );
    expect(layer).toMatchObject({ below: [], uses: 0, digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(layer.bytes).toBeGreaterThan(0);
    const [one, two] = await Promise.all([
      engine.create({ limits, base: layer.id }),
      engine.create({ limits, base: layer.id }),
    ]);
    using first = new Puppet(one);
    using second = new Puppet(two);
    expect(await first.run(`[${readNote}, open("/home/user/.own").read()]`)).toEqual(["frozen", "home"]);
    expect(await first.run('[os.stat(p).st_uid for p in ("/workspace/note", "/workspace", "/home/user")]')).toEqual([
      1000, 1000, 1000,
    ]);
    expect(await first.run('oct(os.stat("/workspace").st_mode)')).toBe("0o40750");
    await first.run(note("of the first"));
    await first.run('os.rename("/workspace/folder", "/workspace/moved")');
    await first.run('open("/workspace/moved/deep/new", "w").write("1")');
    await second.run('os.remove("/workspace/note")');
    expect(await first.run('sorted(os.listdir("/workspace"))')).toEqual(["moved", "note", "output"]);
    expect(await first.run('sorted(os.listdir("/workspace/moved/deep"))')).toEqual(["file", "new"]);
    expect(await second.run('sorted(os.listdir("/workspace"))')).toEqual(["folder", "output"]);
    expect(await ask(await engine.create({ limits, base: layer.id }), readNote)).toBe("frozen");
    expect((await engine.layers()).map(({ id, uses }) => [id, uses])).toEqual([[layer.id, 3]]);
  });

  it.skipIf(ordinary)(
    "[LIF-07] are what a sandbox goes on from that is kept, and what its copies begin with",
    async () => {
      await using home = await makeHome();
      await using engine = await openTidyEngine(name, home);
      const made = await engine.create({ limits, keep: true });
      await ask(made, note("one"), 'os.mkdir("/workspace/one")');
      const first = await fork(engine, made.id);
      expect(first.sandbox).toEqual(made);
      const copy = await engine.create({ limits, base: first.layer.id, keep: true });
      await ask(first.sandbox, note("two"), 'os.rmdir("/workspace/one")', 'os.mkdir("/workspace/two")');
      const second = await fork(engine, made.id);
      expect(second.layer.below).toEqual([first.layer.id]);
      expect(await ask(second.sandbox, readNote)).toBe("two");
      expect(await ask(second.sandbox, 'sorted(os.listdir("/workspace"))')).toEqual(["note", "output", "two"]);
      expect(await ask(copy, readNote)).toBe("one");
      const later = await engine.create({ limits, base: second.layer.id });
      expect(await ask(later, `[${readNote}, sorted(os.listdir("/workspace"))]`)).toEqual([
        "two",
        ["note", "output", "two"],
      ]);
      // Nothing was written since: the same layer is the answer.
      await engine.stop(made.id);
      const third = await engine.freeze(made.id, { keep: true });
      expect(third.below).toEqual([second.layer.id, first.layer.id]);
      expect((await engine.freeze(made.id, { keep: true })).id).toBe(third.id);
      // A copy goes through stop and start with its own files.
      await ask(copy, note("copy"));
      await engine.stop(copy.id);
      expect(await ask(await engine.start(copy.id), readNote)).toBe("copy");
    },
  );

  it("[HOS-10] a stopped sandbox starts on another root with the same workspace, and names it from then on", async () => {
    await using home = await makeHome();
    await using engine = await openTidyEngine(name, home);
    const old = await freezeTree(engine, makeRoot);
    const next = await freezeTree(engine, `${makeRoot}\nopen("/workspace/etc/own", "w").write("of the next")`);
    const made = await engine.create({ limits, root: old.id, keep: true });
    expect(await ask(made, note("kept"), 'open("/etc/own").read()')).toBe("of the image");
    await engine.stop(made.id);
    const both = `[open("/etc/own").read(), ${readNote}]`;
    await expect(engine.start(made.id, { root: "a".repeat(16) })).rejects.toMatchObject({ code: "not_found" });
    expect(await ask(await engine.start(made.id, { root: next.id }), both)).toEqual(["of the next", "kept"]);
    await engine.stop(made.id);
    await engine.removeLayer(old.id);
    await expect(engine.removeLayer(next.id)).rejects.toMatchObject({ code: "conflict" });
    expect(await ask(await engine.start(made.id), both)).toEqual(["of the next", "kept"]);
  });

  it("are mounted again for the next sandbox once they were given up, and not given up while one runs", async () => {
    await using home = await makeHome();
    await using engine = await openTidyEngine(name, home);
    const layer = await freezeTree(engine, makeRoot);
    const made = await engine.create({ limits, root: layer.id, keep: true });
    const mounts = () =>
      findLeaks(home.home).filter((leak) => leak.includes(`layers/${layer.id}`) && !leak.startsWith("folder"));
    await engine.restLayer(layer.id);
    expect(await ask(made, 'open("/etc/own").read()')).toBe("of the image");
    await engine.stop(made.id);
    await Promise.all([engine.restLayer(layer.id), engine.restLayer(layer.id)]);
    expect(mounts()).toEqual([]);
    const [started] = await Promise.all([engine.start(made.id), engine.restLayer(layer.id)]);
    expect(await ask(started, 'open("/etc/own").read()')).toBe("of the image");
  });

  it("[FIL-07] are what a reset goes back to where a sandbox was made on one, and not where it was frozen later", async () => {
    await using home = await makeHome();
    await using engine = await openTidyEngine(name, home);
    const base = await freezeTree(engine, note("base"));
    const made = await engine.create({ limits, base: base.id, keep: true });
    await ask(made, note("changed"));
    await fork(engine, made.id);
    await engine.reset(made.id);
    expect(await ask(await engine.start(made.id), readNote)).toBe("base");
    const plain = await engine.create({ limits, keep: true });
    await ask(plain, note("plain"));
    await fork(engine, plain.id);
    await engine.reset(plain.id);
    expect(await ask(await engine.start(plain.id), 'os.listdir("/workspace")')).toEqual(["output"]);
  });

  it("[LIF-07] are copies of sandboxes that run and go on", async () => {
    await using home = await makeHome();
    await using engine = await openTidyEngine(name, home);
    const base = await freezeTree(engine, 'open("/workspace/base", "w").write("base")');
    for (const on of [{}, { base: base.id }]) {
      const made = await engine.create({ limits, ...on });
      using puppet = new Puppet(made);
      await puppet.run(note("before"));
      const layer = await engine.freeze(made.id, { keep: true, copy: true });
      await puppet.run(note("after"));
      expect(await puppet.run(readNote)).toBe("after");
      const copy = await engine.create({ limits, base: layer.id });
      expect(await ask(copy, readNote)).toBe("before");
      expect(await ask(copy, 'os.path.exists("/workspace/base")')).toBe("base" in on);
    }
    await expect(engine.freeze("a".repeat(16), { keep: true, copy: true })).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("[LIF-07] carry an input folder along, and change nothing that is told of files", async () => {
    await using home = await makeHome();
    await using engine = await openTidyEngine(name, home);
    const inputFolder = join(home.home, "input");
    await mkdir(inputFolder);
    await writeFile(join(inputFolder, "data"), "given");
    const made = await engine.create({ limits, keep: true, inputFolder });
    await ask(made, note("one"), 'open("/workspace/output/old", "w").write("old")', 'os.mkdir("/workspace/sub")');
    const { layer, sandbox } = await fork(engine, made.id);
    const copy = await engine.create({ limits, base: layer.id });
    for (const one of [sandbox, copy]) {
      expect(await ask(one, 'open("/workspace/input/data").read()')).toBe("given");
      await expect(ask(one, 'open("/workspace/input/data", "w")')).rejects.toThrow(/Read-only|Permission/);
      await engine.markFiles(one.id);
      expect(await engine.changedFiles(one.id)).toEqual({ changes: [], truncated: false });
      await ask(one, note("two"), 'open("/workspace/sub/new", "w").write("n")', 'os.remove("/workspace/output/old")');
      const { changes } = await engine.changedFiles(one.id);
      expect(changes.map(({ path, action }) => `${action} ${path}`).sort()).toEqual([
        "created sub/new",
        "deleted output/old",
        "modified note",
      ]);
      await ask(one, 'open("/workspace/output/new", "w").write("new")');
      const output = join(home.home, `output-${one.id}`);
      await mkdir(output);
      expect(await engine.copyOutput(one.id, { path: output })).toMatchObject({ files: 1, whole: true });
      expect(readdirSync(join(output, one.id))).toEqual(["new"]);
      await using watch = await engine.watchFiles(one.id);
      await ask(one, 'open("/workspace/seen", "w").write("x")');
      for await (const { path } of watch) if (path === "seen") break;
    }
  });

  it("[IMG-01] are the read-only root of sandboxes, of either engine, under what every sandbox has", async () => {
    await using home = await makeHome();
    await using builder = await openTidyEngine("container", home);
    await using engine = await openTidyEngine(name, home);
    const layer = await freezeTree(builder, makeRoot);
    const made = await engine.create({ limits, root: layer.id, keep: true });
    {
      using puppet = new Puppet(made);
      expect(await puppet.run('open("/etc/own").read()')).toBe("of the image");
      expect(await puppet.run('open("/etc/passwd").read()')).not.toContain("stranger");
      expect(await puppet.run('open("/etc/resolv.conf").read()')).toContain("127.64.0.1");
      expect(await puppet.run('os.path.exists("/usr/share")')).toBe(false);
      if (!ordinary)
        expect(await puppet.run('[os.stat("/etc/own").st_uid, os.stat("/usr/bin").st_gid]')).toEqual([0, 0]);
      for (const path of ["/etc/own", "/usr/bin/python3", "/new", "/opt/new"])
        await expect(puppet.run(`open("${path}", "a")`)).rejects.toThrow(/Read-only|Permission/);
      await puppet.run(note("kept"));
    }
    await engine.stop(made.id);
    await expect(builder.removeLayer(layer.id)).rejects.toMatchObject({ code: "conflict", details: { uses: 1 } });
    expect(await ask(await engine.start(made.id), `[open("/etc/own").read(), ${readNote}]`)).toEqual([
      "of the image",
      "kept",
    ]);
  });

  it.skipIf(ordinary)("[HOS-01] are a root with what was added to another root, which is not copied", async () => {
    await using home = await makeHome();
    await using builder = await openTidyEngine("container", home);
    await using engine = await openTidyEngine(name, home);
    const base = await freezeTree(
      builder,
      `${makeRoot}
os.makedirs("/workspace/opt/folder/deep")
open("/workspace/opt/folder/deep/file", "w").write("deep")
open("/workspace/opt/gone", "w").write("gone")`,
    );
    const made = await builder.create({ limits, root: base.id, base: base.id });
    await ask(
      made,
      'os.mkdir("/workspace/app")',
      'open("/workspace/app/server", "w").write("added")',
      'open("/workspace/etc/own", "w").write("changed")',
      'os.remove("/workspace/opt/gone")',
      'os.rename("/workspace/opt/folder", "/workspace/opt/moved")',
    );
    const layer = await builder.freeze(made.id, { keep: false });
    expect(layer.below).toEqual([base.id]);
    expect(layer.bytes).toBeLessThan(base.bytes / 2);
    const used = await engine.create({ limits, root: layer.id });
    expect(await ask(used, '[open(p).read() for p in ("/app/server", "/etc/own", "/opt/moved/deep/file")]')).toEqual([
      "added",
      "changed",
      "deep",
    ]);
    expect(await ask(used, 'sorted(os.listdir("/opt"))')).toEqual(["moved"]);
    await expect(ask(used, 'open("/app/server", "a")')).rejects.toThrow(/Read-only|Permission/);
    await expect(engine.removeLayer(base.id)).rejects.toMatchObject({ code: "conflict" });
  });

  it("[IMG-06] cannot be removed while a sandbox or a layer needs them, and leave nothing when they can", async () => {
    await using home = await makeHome();
    await using engine = await openTidyEngine(name, home);
    await using other = await openTidyEngine(name === "gvisor" ? "container" : "gvisor", home);
    const base = await freezeTree(engine, note("base"));
    const made = await other.create({ limits, base: base.id, keep: true });
    await expect(engine.removeLayer(base.id)).rejects.toMatchObject({ code: "conflict" });
    await ask(made, note("above"));
    const above = await other.freeze(made.id, { keep: false });
    expect(findLeaks(home.home).filter((leak) => leak.startsWith("folder"))).toEqual([]);
    await expect(engine.removeLayer(base.id)).rejects.toMatchObject({ code: "conflict" });
    expect(await ask(await engine.create({ limits, base: above.id }), readNote)).toBe("above");
    await expect(engine.removeLayer(above.id)).rejects.toMatchObject({ code: "conflict" });
    await engine[Symbol.asyncDispose](); // its sandbox was ephemeral
    await other.removeLayer(above.id);
    await other.removeLayer(base.id);
    await expect(other.removeLayer(base.id)).rejects.toMatchObject({ code: "not_found" });
    await expect(other.create({ limits, base: base.id })).rejects.toMatchObject({ code: "not_found" });
    await expect(other.create({ limits, root: base.id })).rejects.toMatchObject({ code: "not_found" });
    expect(await other.layers()).toEqual([]);
    expect(readdirSync(join(home.home, "engine/layers")).filter((entry) => entry !== "mounted")).toEqual([]);
  });

  it("[IMG-01] are not used when a bit of them has changed", async () => {
    await using home = await makeHome();
    let id: string;
    {
      await using engine = await openTidyEngine(name, home);
      id = (await freezeTree(engine, note("true"))).id;
    }
    const path = join(home.home, "engine/layers", id, "volume.img");
    const change = async (at: number) => {
      await using file = await open(path, "r+");
      const byte = Buffer.alloc(1);
      await file.read(byte, 0, 1, at);
      byte[0] = (byte[0] ?? 0) ^ 1;
      await file.write(byte, 0, 1, at);
    };
    for (const at of [1024 + 0x78, limits.storageBytes - 1]) {
      await change(at);
      await using engine = await openTidyEngine(name, home);
      for (const use of [{ base: id }, { root: id }])
        await expect(engine.create({ limits, ...use })).rejects.toMatchObject({
          code: "unavailable",
          message: /is damaged/,
        });
      expect(findLeaks(home.home).filter((leak) => !leak.startsWith("process"))).toEqual([]);
      await change(at);
    }
    await using engine = await openTidyEngine(name, home);
    expect(await ask(await engine.create({ limits, base: id }), readNote)).toBe("true");
  });

  // Twenty starts: one engine's will do, the kernel that looks through the chain is the same.
  it.skipIf(name === "gvisor")(
    "[LIF-07] end at a chain of so many, and what cannot be frozen stays as it is",
    async () => {
      await using home = await makeHome();
      await using engine = await openTidyEngine(name, home);
      const made = await engine.create({ limits, keep: true });
      await ask(made, note("0"));
      for (let depth = 1; depth < layerLimits.chain; depth++) {
        await engine.freeze(made.id, { keep: true });
        const sandbox = await engine.start(made.id);
        if (depth % 5 === 0) await ask(sandbox, note(String(depth)));
      }
      await engine.freeze(made.id, { keep: true });
      const last = await engine.start(made.id);
      expect(await ask(last, readNote)).toBe("15");
      await expect(engine.freeze(made.id, { keep: true })).rejects.toMatchObject({ code: "limit_exceeded" });
      expect(await ask(last, readNote)).toBe("15");
      const ephemeral = await engine.create({ limits });
      await expect(engine.freeze(ephemeral.id, { keep: true })).rejects.toMatchObject({ code: "invalid" });
      expect(await ask(ephemeral, "1 + 1")).toBe(2);
      await engine.reset(made.id);
      await expect(engine.freeze(made.id, { keep: true })).rejects.toMatchObject({ code: "conflict" });
      expect(existsSync(join(home.home, "engine/sandboxes", made.id))).toBe(true);
    },
  );
});
