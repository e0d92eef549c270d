import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  dockerArchive,
  file,
  folder,
  hardLink,
  imageLayout,
  link,
  type MadeEntry,
  type MadeImage,
  makeTar,
} from "./made-image.ts";
import { leftIn, readBack } from "./read-back.ts";

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "caisson-oci-"));
});
afterAll(() => rm(parent, { recursive: true }));

const merge = async (...layers: MadeEntry[][]) =>
  (await readBack(parent, imageLayout({ layers: layers.map(makeTar) }))).tree;

describe("layers of an image", () => {
  it("are one tree, in which the last one wins", async () => {
    const tree = await merge(
      [folder("etc"), file("etc/motd", "one"), file("etc/keep", "kept", 0o600), link("bin", "usr/bin")],
      [file("etc/motd", "two", 0o755), folder("etc", 0o700)],
    );
    expect(tree).toEqual({ etc: "d 700", "etc/motd": "f 755 two", "etc/keep": "f 600 kept", bin: "l usr/bin" });
  });

  it("remove names of layers below, and no others", async () => {
    const tree = await merge(
      [file("a/x"), file("a/y"), file("b/deep/z"), file("gone")],
      [file("a/.wh.x"), file(".wh.b"), file(".wh.gone"), file(".wh.never-there"), file("b/new", "new")],
    );
    expect(tree).toEqual({ a: "d 755", "a/y": "f 644 ", b: "d 755", "b/new": "f 644 new" });
  });

  it("keep what a layer itself says, on whichever side of the mark it stands", async () => {
    const marks = [file(".wh.x"), file("d/.wh..wh..opq")];
    const news = [file("x", "new"), file("d/new", "new"), folder("d/e")];
    const below = [file("x", "old"), file("d/old"), file("d/e/old"), folder("d", 0o700)];
    const wanted = { x: "f 644 new", d: "d 700", "d/new": "f 644 new", "d/e": "d 755" };
    expect(await merge(below, [...marks, ...news])).toEqual(wanted);
    expect(await merge(below, [...news, ...marks])).toEqual(wanted);
  });

  it("empty a folder that a mark makes opaque, and leave its own rights", async () => {
    const tree = await merge(
      [folder("d", 0o750), file("d/one"), file("d/two/three"), file("e")],
      [file("d/.wh..wh..opq")],
    );
    expect(tree).toEqual({ d: "d 750", e: "f 644 " });
  });

  it("pass over what a storage driver noted for itself", async () => {
    expect(await merge([file("a")], [file(".wh..wh.plnk"), file(".wh..wh.aufs")])).toEqual({ a: "f 644 " });
  });

  it("put a file in the place of a folder, and a folder in the place of a file", async () => {
    const tree = await merge([file("d/below"), file("f")], [file("d", "now a file"), folder("f"), file("f/below")]);
    expect(tree).toEqual({ d: "f 644 now a file", f: "d 755", "f/below": "f 644 " });
  });

  it("share a file between its names, also when the first of them goes", async () => {
    const tree = await merge([file("a", "shared"), hardLink("b", "a"), hardLink("c", "b")], [file(".wh.a")]);
    const { a, ...names } = tree;
    expect(a).toBeUndefined();
    expect(Object.values(names).sort()).toEqual([
      expect.stringMatching(/^f 644 shared$/),
      expect.stringMatching(/^h [bc]$/),
    ]);
  });

  it("give a file that is written anew bytes of its own", async () => {
    const tree = await merge([file("a", "old"), hardLink("b", "a")], [file("a", "new")]);
    expect(tree).toEqual({ a: "f 644 new", b: "f 644 old" });
  });

  it("reach names through a link that stays inside", async () => {
    const tree = await merge(
      [folder("usr/lib"), link("lib", "usr/lib"), link("usr/lib64", "../lib")],
      [file("lib/one", "1"), file("usr/lib64/two", "2")],
    );
    expect(tree).toEqual({
      usr: "d 755",
      "usr/lib": "d 755",
      lib: "l usr/lib",
      "usr/lib64": "l ../lib",
      "usr/lib/one": "f 644 1",
      "usr/lib/two": "f 644 2",
    });
  });

  it("may hold links to anywhere: they are read in the image", async () => {
    const tree = await merge([link("a", "/etc/passwd"), link("b", "../../../x")]);
    expect(tree).toEqual({ a: "l /etc/passwd", b: "l ../../../x" });
  });

  it("keep long names and names in UTF-8", async () => {
    const long = `${"n".repeat(120)}/${"m".repeat(200)}`;
    const umlaut = Buffer.from("grüße/日本").toString("latin1");
    const tree = await merge([file(long, "x"), file(umlaut, "y"), link("to", `${"t".repeat(200)}`)]);
    expect(tree[long]).toBe("f 644 x");
    expect(tree[umlaut]).toBe("f 644 y");
    expect(tree.to).toBe(`l ${"t".repeat(200)}`);
  });

  it("lose set-uid, which is told", async () => {
    const { tree, notes } = await readBack(parent, imageLayout({ layers: [makeTar([file("su", "", 0o4755)])] }));
    expect(tree).toEqual({ su: "f 755 " });
    expect(notes).toEqual(["programs lose set-uid or set-gid (1)"]);
  });

  it.each(["security.capability", "user.note"])("lose the extended attribute %s, which is told", async (name) => {
    const value = `SCHILY.xattr.${name}=x\n`;
    const record = Buffer.from(`${value.length + 3} ${value}`);
    const extended = makeTar([{ type: "file", path: "pax", mode: 0o644, text: record.toString() }]).subarray(0, 1024);
    extended[156] = "x".charCodeAt(0);
    extended.write("        ", 148);
    const sum = extended.subarray(0, 512).reduce((total, byte) => total + byte, 0);
    extended.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    const layer = Buffer.concat([extended, makeTar([file("ping", "p", 0o755)])]);
    const { tree, notes } = await readBack(parent, imageLayout({ layers: [layer] }));
    expect(tree).toEqual({ ping: "f 755 p" });
    expect(notes).toEqual([`the attribute ${name} is not kept (1)`]);
  });
});

describe("one image", () => {
  const made: MadeImage = {
    layers: [makeTar([folder("a"), file("a/x", "1")]), makeTar([file("a/.wh.x"), file("a/y", "2")])],
    config: { Env: ["A=1", "PATH=/opt/bin:relative:/bin"], Cmd: ["sh"], Entrypoint: ["/e"], WorkingDir: "/a" },
  };

  it("is the same however it is packed and compressed", async () => {
    const packed = [
      imageLayout(made),
      imageLayout({ ...made, compression: "none" }),
      imageLayout({ ...made, compression: "zstd" }),
      dockerArchive(made),
    ];
    const read = await Promise.all(packed.map((archive) => readBack(parent, archive)));
    expect(new Set(read.map(({ digest }) => digest)).size).toBe(1);
    expect(new Set(read.map(({ tar }) => tar.toString("hex"))).size).toBe(1);
    expect(read[0]?.tree).toEqual({ a: "d 755", "a/y": "f 644 2" });
    expect(read.map(({ manifestDigest }) => manifestDigest === null)).toEqual([false, false, false, true]);
    expect(await leftIn(parent)).toEqual([]);
  });

  it("says how it wants to be started", async () => {
    const { config, notes } = await readBack(parent, imageLayout(made));
    expect(config).toEqual({
      env: { A: "1" },
      workdir: "/a",
      user: null,
      entrypoint: ["/e"],
      cmd: ["sh"],
      searchPath: "/opt/bin:/bin",
    });
    expect(notes).toEqual([]);
  });

  it("has the folder that it wants to be started in, for whoever runs there", async () => {
    const layers = [
      makeTar([folder("a", 0o700), folder("a/b", 0o700), link("l", "a"), link("out", "/a"), file("f", "")]),
    ];
    const read = async (WorkingDir: string) => readBack(parent, imageLayout({ layers, config: { WorkingDir } }));
    for (const [asked, workdir, tree] of [
      ["/a/b/", "/a/b", { a: "d 711", "a/b": "d 755" }],
      ["/l/b", "/l/b", { a: "d 711", "a/b": "d 755" }],
      ["/not/there", "/not/there", { not: "d 755", "not/there": "d 755", a: "d 700" }],
      ["/a/../n\u00fc", "/n\u00fc", { a: "d 700" }],
    ] as const) {
      const { config, tree: found, notes } = await read(asked);
      expect([config.workdir, notes]).toEqual([workdir, []]);
      expect(found).toMatchObject(tree);
    }
    for (const asked of ["/home/node/app", "/root", "/tmp", "/workspace/x", "relative", "/a\nb", "/a/../../proc/1"]) {
      const { config, notes } = await read(asked);
      expect([asked, config.workdir, notes.length]).toEqual([asked, null, 1]);
    }
    expect((await read("/workspace")).config.workdir).toBeNull();
    for (const asked of ["/out/b", "/f/b"]) {
      const { config, notes, tree } = await read(asked);
      expect([config.workdir, notes.length, tree.a]).toEqual([asked, 1, "d 700"]);
    }
  });

  it("has no say in what is a sandbox's own", async () => {
    const Env = ["LD_PRELOAD=/evil.so", "https_proxy=http://evil", "HTTP_PROXY=x", "HOME=/root", "no name", "OK=a=b"];
    const { config, notes } = await readBack(parent, imageLayout({ ...made, config: { Env, User: "root" } }));
    expect(config.env).toEqual({ OK: "a=b" });
    expect(config.user).toBe("root");
    expect(notes).toHaveLength(6);
    expect(notes.join("\n")).toContain("code runs as uid 1000");
  });
});
