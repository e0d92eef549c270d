import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ordinary } from "../harness.ts";
import { findObstacle, OrdinaryUser } from "../ordinary-user.ts";
import { runVitest } from "../vitest-as-user.ts";
import { engineNames, limits, makeHome, Puppet } from "./fixture.ts";
import { freezeTree, makeRoot, openTidyEngine } from "./layer-trees.ts";

const obstacle = ordinary ? "this is one" : await findObstacle();

/** The claims below, run by an ordinary user. */
describe.skipIf(obstacle !== undefined)("an ordinary user", () => {
  let user: OrdinaryUser;
  beforeAll(async () => {
    user = await OrdinaryUser.make();
  });
  afterAll(() => user[Symbol.asyncDispose]());

  it("has layers that are plain folders", async () => {
    await mkdir(join(user.folder, "tmp"), { recursive: true });
    const run = await runVitest(user, ["test/engine/layers-rootless.test.ts"], "layers of an ordinary user", 200_000);
    expect(run.failed).toEqual([]);
    expect(run.passed).toHaveLength(2 * engineNames.length);
  }, 240_000);
});

describe.skipIf(!ordinary).each(engineNames)("layers of an ordinary user, engine %s,", (name) => {
  it("are folders that can be the root of sandboxes, and can be removed", async () => {
    await using home = await makeHome();
    await using engine = await openTidyEngine(name, home);
    await using builder = await openTidyEngine("container", home);
    const layer = await freezeTree(builder, `${makeRoot}\nos.symlink("${home.home}", "/workspace/srv")`);
    expect(layer).toMatchObject({ digest: null, below: [] });
    const made = await engine.create({ limits, root: layer.id });
    {
      using puppet = new Puppet(made);
      expect(await puppet.run('open("/etc/own").read()')).toBe("of the image");
      expect(await puppet.run('open("/etc/passwd").read()')).not.toContain("stranger");
      expect(await puppet.run(`os.path.exists("/srv/engine")`)).toBe(false);
      for (const path of ["/etc/own", "/usr/bin/python3", "/new"])
        await expect(puppet.run(`open("${path}", "a")`)).rejects.toThrow(/Read-only|Permission/);
    }
    await expect(engine.removeLayer(layer.id)).rejects.toMatchObject({ code: "conflict" });
    await engine.destroy(made.id);
    await engine.removeLayer(layer.id);
    expect(existsSync(join(home.home, "engine/layers", layer.id))).toBe(false);
  });

  it("are nothing to lie on, which is said before anything is done", async () => {
    await using home = await makeHome();
    await using engine = await openTidyEngine(name, home);
    const layer = await freezeTree(engine, "1");
    await expect(engine.create({ limits, base: layer.id })).rejects.toMatchObject({ code: "unsupported" });
    const made = await engine.create({ limits, keep: true });
    using puppet = new Puppet(made);
    for (const options of [{ keep: true }, { keep: true, copy: true }])
      await expect(engine.freeze(made.id, options)).rejects.toMatchObject({ code: "unsupported" });
    expect(await puppet.run("1 + 1")).toBe(2);
    await engine.removeLayer(layer.id);
  });
});
