import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Engine } from "../../packages/server/src/core/engine.ts";
import { engineNames, limits, makeHome, openEngine, Puppet } from "./fixture.ts";

const makeRoot = readFileSync(join(import.meta.dirname, "root-tree.py"), "utf8");

async function freeze(engine: Engine, code: string, keep = false) {
  const made = await engine.create({ limits: { ...limits, storageBytes: 256 * 1024 ** 2 }, keep });
  {
    using puppet = new Puppet(made);
    await puppet.run(code);
  }
  return { made, layer: await engine.freeze(made.id, { keep }) };
}

describe.each(engineNames)("layers of engine %s", (name) => {
  it("are frozen volumes on which sandboxes lie", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const { layer } = await freeze(engine, 'open("/workspace/note", "w").write("frozen")');
    expect(layer).toMatchObject({ below: [], uses: 0, digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const made = await engine.create({ limits, base: layer.id });
    using puppet = new Puppet(made);
    expect(await puppet.run('open("/workspace/note").read()')).toBe("frozen");
    await puppet.run('open("/workspace/note", "a").write(" and more")');
    expect(await puppet.run('open("/workspace/note").read()')).toBe("frozen and more");
    expect(await puppet.run('[os.stat("/workspace/note").st_uid, os.stat("/workspace").st_uid]')).toEqual([1000, 1000]);
    await expect(engine.removeLayer(layer.id)).rejects.toMatchObject({ code: "conflict" });
    await engine.destroy(made.id);
    await engine.removeLayer(layer.id);
    expect(await engine.layers()).toEqual([]);
  });

  it("are the read-only root of sandboxes, of either engine, under what every sandbox has", async () => {
    await using home = await makeHome();
    await using builder = await openEngine("container", home);
    await using engine = await openEngine(name, home);
    const { layer } = await freeze(builder, makeRoot);
    const made = await engine.create({ limits, root: layer.id });
    using puppet = new Puppet(made);
    expect(await puppet.run('open("/etc/own").read()')).toBe("of the image");
    expect(await puppet.run('open("/etc/passwd").read()')).not.toContain("stranger");
    expect(await puppet.run('os.path.exists("/usr/share")')).toBe(false);
    expect(await puppet.run('[os.stat("/etc/own").st_uid, os.stat("/usr/bin").st_uid]')).toEqual([0, 0]);
    for (const path of ["/etc/own", "/usr/bin/python3", "/new", "/opt/new"])
      await expect(puppet.run(`open("${path}", "a")`)).rejects.toThrow(/Read-only|Permission/);
    await puppet.run('open("/workspace/note", "w").write("1")');
  });
});
