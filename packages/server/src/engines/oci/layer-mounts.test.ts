import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LayerMounts } from "./layer-mounts.ts";
import { layerFolder, writeLayerRecord } from "./layer-record.ts";

const idOf = (name: string) => name.repeat(16);

/** A helper that says what it was asked for, and answers when it is told to. */
class Helper {
  readonly asked: string[] = [];
  hold: Promise<void> | undefined;
  fails = false;

  async request(verb: string, args: readonly (readonly [string, unknown])[]): Promise<Record<string, string>> {
    const [, id = ""] = args.find(([key]) => key === "id") ?? [];
    this.asked.push(`${verb} ${String(id)[0]}`);
    if (verb === "layer-unmount") await this.hold;
    if (this.fails) throw new Error("no loop device is free");
    return { device: "loop0" };
  }
}

describe("layers that an engine has mounted", () => {
  let folder: string;
  let helper: Helper;
  let mounts: LayerMounts;
  const errors: unknown[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "caisson-layers-"));
    helper = new Helper();
    mounts = new LayerMounts(folder, helper, (error) => void errors.push(error), 2);
    const record = {
      kind: "image",
      digest: "0".repeat(64),
      uidBase: 100_000,
      hasInput: false,
      passing: false,
      lent: false,
    } as const;
    const made = { sandbox: idOf("s"), createdAt: new Date(0).toISOString() };
    for (const name of ["a", "b", "c", "d", "e"]) {
      const below = name === "e" ? [idOf("a")] : [];
      await mkdir(layerFolder(folder, idOf(name)), { recursive: true });
      await writeLayerRecord(layerFolder(folder, idOf(name)), { ...record, ...made, id: idOf(name), below });
    }
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
    expect(errors).toEqual([]);
  });
  const use = async (name: string) => (await mounts.use({ root: idOf(name), base: null, origin: null })).release;
  const told = () => helper.asked.splice(0);

  it("[IMG-01] stay while a sandbox needs them, and a few more; then the one goes that was left longest ago", async () => {
    const first = await use("a");
    const second = await use("a");
    for (const name of ["b", "c"]) (await use(name))();
    expect(told()).toEqual(["layer-mount a", "layer-mount b", "layer-mount c"]);
    first();
    first();
    expect(told()).toEqual([]);
    second();
    expect(told()).toEqual(["layer-unmount b"]);
    (await use("c"))();
    (await use("d"))();
    expect(told()).toEqual(["layer-mount d", "layer-unmount a"]);
  });

  it("stay below those that lie on them", async () => {
    const above = await use("e");
    for (const name of ["b", "c", "d"]) (await use(name))();
    expect(told().filter((one) => one.startsWith("layer-unmount"))).toEqual(["layer-unmount b"]);
    above();
    expect(told()).toEqual(["layer-unmount c", "layer-unmount d"]);
  });

  it("are mounted again only after they were unmounted", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    helper.hold = promise;
    for (const name of ["a", "b", "c"]) (await use(name))();
    const again = use("a");
    await use("d"); // takes as long
    const before = ["layer-mount a", "layer-mount b", "layer-mount c", "layer-unmount a", "layer-mount d"];
    expect(told()).toEqual(before);
    resolve();
    await again;
    expect(told()).toEqual(["layer-mount a"]);
  });

  it("leave once when they are removed", async () => {
    (await use("a"))();
    await mounts.forget(idOf("a"));
    await mounts.forget(idOf("a"));
    expect(told()).toEqual(["layer-mount a", "cancel a", "layer-unmount a", "cancel a"]);
  });

  it("are left by a start that cannot mount one of them", async () => {
    helper.fails = true;
    await expect(use("a")).rejects.toThrow("no loop device is free");
    helper.fails = false;
    for (const name of ["a", "b", "c"]) (await use(name))();
    expect(told().at(-1)).toBe("layer-unmount a");
  });
});
