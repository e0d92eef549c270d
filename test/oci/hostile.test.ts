import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { LayerReader } from "../../packages/server/src/registries/layer-entries.ts";
import { ociLimits } from "../../packages/server/src/registries/limits.ts";
import { tarEnd, tarHeader } from "../../packages/server/src/tar/tar-writer.ts";
import {
  descriptorOf,
  dockerArchive,
  file,
  folder,
  hardLink,
  imageLayout,
  layoutArchive,
  link,
  type MadeEntry,
  makeImage,
  makeIndex,
  makeTar,
  sha256,
} from "./made-image.ts";
import { leftIn, readBack } from "./read-back.ts";

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "caisson-oci-"));
});
afterEach(async () => expect(await leftIn(parent)).toEqual([]));
afterAll(() => rm(parent, { recursive: true }));

const read = (archive: Buffer) => readBack(parent, archive);
const readTrees = (...layers: MadeEntry[][]) => read(imageLayout({ layers: layers.map(makeTar) }));

/** A header of another type than the writer makes. */
function ofType(type: string, path: string): Buffer {
  const header = tarHeader({ type: "file", path, mode: 0o644 });
  header[156] = type.charCodeAt(0);
  header.write("        ", 148, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return Buffer.concat([header, tarEnd]);
}

describe("a layer is refused, and nothing of it is left, when", () => {
  const trees: [string, string, ...MadeEntry[][]][] = [
    ["a name climbs", "leads out of the folder", [file("a/../../x")]],
    ["a name is absolute", "is an absolute name", [file("/etc/passwd")]],
    ["a name goes through an absolute link", "may lead out of it", [link("a/b", "/etc"), file("a/b/x")]],
    ["a name goes through an absolute link of a layer below", "may lead out", [link("a/b", "/etc")], [file("a/b/x")]],
    ["a name goes through a link that climbs out", "may lead out of it", [link("a/b", "../../etc"), file("a/b/x")]],
    ["a name goes through a link that climbs late", "may lead out", [link("a/b", "c/../../x"), file("a/b/x")]],
    ["a name goes through links in a circle", "too many links", [link("a", "b"), link("b", "a"), file("a/x")]],
    ["a name goes through a file", "goes through a file", [file("a"), file("a/x")]],
    ["a hard link is absolute", "is an absolute name", [hardLink("a", "/etc/shadow")]],
    ["a hard link climbs", "leads out of the folder", [hardLink("a", "../etc/shadow")]],
    ["a hard link has no target", "which is no earlier file", [hardLink("a", "missing")]],
    ["a hard link comes before its target", "which is no earlier file", [hardLink("a", "b"), file("b")]],
    ["a hard link is to a folder", "which is no earlier file", [folder("b"), hardLink("a", "b")]],
    ["a hard link goes out by a link", "may lead out of it", [link("b", "/etc"), hardLink("a", "b/shadow")]],
    ["a hard link is to itself", "which is no earlier file", [file("a")], [hardLink("a", "a")]],
    ["a hard link is to a name that was removed", "no earlier file", [file("b")], [file(".wh.b"), hardLink("a", "b")]],
    ["it removes the folder above", "removes its own folder", [file("a/.wh...")]],
    ["it removes its own folder", "removes its own folder", [file("a/.wh..")]],
    ["it removes nothing", "removes its own folder", [file("a/.wh.")]],
    ["it removes through a link out", "may lead out of it", [link("a", "/etc")], [file("a/.wh.passwd")]],
    ["a mark of removal is a folder", "marks a removal and is no file", [folder(".wh.a")]],
    ["a folder is a mark of removal", "lies in a mark of removal", [file(".wh.a/b")]],
    ["a name is in it twice", "is in it twice", [file("a", "1"), file("a", "2")]],
    ["a file has the name of its folder", "is in it twice", [file("a/b"), file("a")]],
    ["a name is not UTF-8", "is no name in UTF-8", [file("a\xff\xfe")]],
    ["a link's target is not UTF-8", "is no name in UTF-8", [link("a", "\xff\xfe")]],
    ["a name is too deep", "is deeper than", [file(`${"d/".repeat(ociLimits.depth)}x`)]],
    ["a part of a name is too long", "has a part past 255 bytes", [file("n".repeat(256))]],
    ["links make a path too long", "in too long a path", deepLinks()],
  ];
  it.each(trees)("%s", async (_title, why, ...layers) => {
    await expect(readTrees(...layers)).rejects.toThrow(why);
  });

  /** Folders of 250 bytes each, reached by a short link. */
  function deepLinks(): MadeEntry[] {
    const made: MadeEntry[] = [];
    for (let i = 0; i < 20; i++) {
      const below = i === 0 ? "" : "to/";
      made.push(folder(`${below}${String(i).padStart(250, "n")}`));
      if (i === 0) made.push(link("to", String(0).padStart(250, "n")));
    }
    const parts = Array.from({ length: 12 }, (_, at) => String(at).padStart(250, "m")).join("/");
    return [folder(parts), link("short", parts), folder(`short/${parts}`)];
  }

  const raw: [string, string, Buffer][] = [
    ["it holds a character device", "is a device", ofType("3", "dev/null")],
    ["it holds a block device", "is a device", ofType("4", "dev/sda")],
    ["it holds a FIFO", "is a FIFO", ofType("6", "pipe")],
    ["it holds a sparse file", "is of an unknown kind", ofType("S", "sparse")],
    ["something follows the archive", "data follows its end", Buffer.concat([makeTar([]), randomBytes(512)])],
    ["the archive is cut short", "it is cut short", makeTar([file("a", "x".repeat(2000))]).subarray(0, 1024)],
    ["it is no archive", "it is no tar archive", randomBytes(2048)],
  ];
  it.each(raw)("%s", async (_title, why, layer) => {
    await expect(read(imageLayout({ layers: [layer] }))).rejects.toThrow(why);
  });

  const plain = makeTar([file("a", "text")]);
  const blobs: [string, string, Buffer][] = [
    ["its gzip is cut short", "its gzip is damaged or cut short", gzipSync(plain).subarray(0, -9)],
    ["its gzip is damaged", "its gzip is damaged", damaged(gzipSync(plain))],
    ["its zstd is cut short", "its zstd is damaged or cut short", zstdCompressSync(plain).subarray(0, -3)],
    ["something follows its gzip", "data follows", Buffer.concat([gzipSync(plain), Buffer.from("more")])],
    ["something follows its zstd", "data follows", Buffer.concat([zstdCompressSync(plain), Buffer.from("more")])],
    ["it unpacks to other bytes", "it unpacks to other bytes", gzipSync(makeTar([file("a", "evil")]))],
  ];
  it.each(blobs)("%s", async (_title, why, blob) => {
    await expect(read(imageLayout({ layers: [plain], blobs: [blob] }))).rejects.toThrow(why);
  });

  function damaged(bytes: Buffer): Buffer {
    const copy = Buffer.from(bytes);
    copy.writeUInt32LE((copy.readUInt32LE(copy.length - 8) ^ 1) >>> 0, copy.length - 8); // its own checksum
    return copy;
  }
});

describe("an image that would fill the machine is refused:", () => {
  it("10 GB from little more than 10 KB", async () => {
    // One member of 1 GB of zeros; ten frames of it would be 10 GB.
    const header = tarHeader({ type: "file", path: "zeros", mode: 0o644, size: 10 * 1024 ** 3 });
    const bomb = zstdCompressSync(Buffer.concat([header, Buffer.alloc(256 * 1024 ** 2)]));
    expect(bomb.length).toBeLessThan(32 * 1024);
    const archive = imageLayout({ layers: [header], blobs: [bomb], compression: "zstd" });
    await expect(read(archive)).rejects.toThrow(`unpacks to more than ${ociLimits.ratio} times its size`);
  });

  it.each(["plain", "gzip"])("it is past what is left for it, %s: one layer may be named many times", async (kind) => {
    const tar = makeTar([file("a", "a".repeat(4096))]);
    const path = join(await mkdtemp(join(parent, "layer-")), "layer.tar");
    await writeFile(path, kind === "gzip" ? gzipSync(tar) : tar);
    const names = async (mostBytes: number) => {
      const found: string[] = [];
      for await (const { entry } of new LayerReader(path, 0).verified(sha256(tar), mostBytes)) found.push(entry.path);
      return found;
    };
    expect(await names(tar.length)).toEqual(["a"]);
    await expect(names(tar.length - 1)).rejects.toThrow(`more than ${tar.length - 1} bytes`);
    await rm(dirname(path), { recursive: true });
  });

  it("1,000,000 entries", async () => {
    // As many as it takes: of more, nothing would be read. They differ, or they would be a bomb.
    const block = tarHeader({ type: "directory", path: "d", mode: 0o755 });
    const blocks = Buffer.alloc(block.length * (ociLimits.entries + 1), block);
    for (let at = 0; at <= ociLimits.entries; at++) blocks.write("0000755\0", at * block.length + 100, "latin1");
    await expect(read(imageLayout({ layers: [blocks], compression: "none" }))).rejects.toThrow(
      `it has more than ${ociLimits.entries} entries`,
    );
  });

  it("folders that its names take for granted count too", async () => {
    const names = Array.from({ length: 5_000 }, (_, at) => file(`${at}/${"d/".repeat(ociLimits.depth - 2)}x`));
    await expect(readTrees(names)).rejects.toThrow(`more than ${ociLimits.entries} names`);
  });

  it("names that are long together", async () => {
    const target = "t".repeat(4_000);
    const links = Array.from({ length: 17_000 }, (_, at) => link(String(at), target));
    const archive = imageLayout({ layers: [makeTar(links)], compression: "none" });
    await expect(read(archive)).rejects.toThrow("bytes together");
  });

  it("but marks of removal may be there again and again", async () => {
    const names = Array.from({ length: 2_000 }, (_, at) => file(`d/${at}`));
    const marks = Array.from({ length: 2_000 }, (_, at) => file(at % 2 === 0 ? "d/.wh..wh..opq" : ".wh.d"));
    const layers = [makeTar([file("d/old")]), makeTar([...names, ...marks])];
    const { tree } = await read(imageLayout({ layers, compression: "none" }));
    expect(Object.keys(tree)).toHaveLength(2_001);
    expect(tree["d/old"]).toBeUndefined();
  });

  it("more layers than there may be", async () => {
    const layers = Array.from({ length: ociLimits.layers + 1 }, (_, at) => makeTar([file(String(at))]));
    await expect(read(imageLayout({ layers }))).rejects.toThrow("its manifest is wrong at layers");
  });

  it("an archive of many members", async () => {
    const many = Array.from({ length: ociLimits.members + 1 }, (_, at) => file(String(at)));
    await expect(read(makeTar(many))).rejects.toThrow(`more than ${ociLimits.members} entries`);
  });
});

describe("what describes an image is refused when", () => {
  const layers = [makeTar([file("a", "1")])];
  const { config, layers: layerBlobs, manifest } = makeImage({ layers });
  const named = (descriptor: object, extra: { mediaType: string; bytes: Buffer }[] = []) =>
    layoutArchive([descriptor], [config, manifest, ...layerBlobs, ...extra]);

  it("a digest is not that of the bytes", async () => {
    const other = { mediaType: manifest.mediaType, bytes: Buffer.from(manifest.bytes.toString().replace("2", "3")) };
    const archive = layoutArchive([descriptorOf(manifest)], [config, ...layerBlobs]);
    const swapped = Buffer.concat([
      archive.subarray(0, archive.length - tarEnd.length),
      tarHeader({
        type: "file",
        path: `blobs/${sha256(manifest.bytes).replace(":", "/")}`,
        mode: 0o644,
        size: other.bytes.length,
      }),
      other.bytes,
      Buffer.alloc((512 - (other.bytes.length % 512)) % 512),
      tarEnd,
    ]);
    await expect(read(swapped)).rejects.toThrow("what should be sha256:");
  });

  it("a size is not that of the bytes", async () => {
    await expect(read(named({ ...descriptorOf(manifest), size: 1 }))).rejects.toThrow("bytes, not 1");
  });

  it("a digest is of another kind, or a path", async () => {
    for (const digest of ["sha512:00", "sha256:../../../etc/passwd", "sha256:ABC"])
      await expect(read(named({ ...descriptorOf(manifest), digest }))).rejects.toThrow("not a sha256 digest");
  });

  it("a blob is not there", async () => {
    await expect(read(layoutArchive([descriptorOf(manifest)], [manifest]))).rejects.toThrow("the archive has no");
  });

  it("a document is too large", async () => {
    const large = { ...manifest, bytes: Buffer.alloc(ociLimits.documentBytes + 1, " ") };
    await expect(read(named(descriptorOf(large), [large]))).rejects.toThrow("a document of it is larger than");
  });

  it("a document is no JSON, or another one", async () => {
    for (const text of ["{", "[]", '{"config":1}', "null"]) {
      const bad = { ...manifest, bytes: Buffer.from(text) };
      await expect(read(named(descriptorOf(bad), [bad]))).rejects.toThrow("its manifest is");
    }
  });

  it("a document is an index and a manifest at once, or says that it is something else", async () => {
    const both = (more: object) => {
      const bytes = Buffer.from(JSON.stringify({ ...JSON.parse(manifest.bytes.toString()), ...more }));
      return { ...manifest, bytes };
    };
    const index = makeIndex([descriptorOf(manifest)]);
    const confused = [
      both({ manifests: [descriptorOf(manifest)] }),
      both({ manifests: null }),
      both({ mediaType: index.mediaType }),
      { ...both({ manifests: [descriptorOf(manifest)] }), mediaType: index.mediaType },
      { ...index, mediaType: manifest.mediaType },
    ];
    for (const bad of confused)
      await expect(read(named(descriptorOf(bad), [bad]))).rejects.toThrow(/its (index|manifest) is wrong at/);
  });

  it("layers lie elsewhere", async () => {
    const foreign = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip";
    const { layers: blobs, ...rest } = JSON.parse(manifest.bytes.toString());
    for (const mediaType of [foreign, "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"]) {
      const urls = ["http://169.254.169.254/latest/meta-data"];
      const layersThere = blobs.map((blob: object) => ({ ...blob, mediaType, urls }));
      const bad = { ...manifest, bytes: Buffer.from(JSON.stringify({ ...rest, layers: layersThere })) };
      await expect(read(named(descriptorOf(bad), [bad]))).rejects.toThrow("is no layer that is read here");
    }
  });

  it("indexes lead to indexes without an end", async () => {
    let at = makeIndex([descriptorOf(manifest)]);
    const all = [at];
    for (let depth = 0; depth < ociLimits.indexDepth; depth++) {
      at = makeIndex([descriptorOf(at)]);
      all.push(at);
    }
    await expect(read(named(descriptorOf(at), all))).rejects.toThrow("nested more than");
  });

  it("it is for another machine", async () => {
    const foreign = { ...descriptorOf(manifest), platform: { os: "windows", architecture: "amd64" } };
    await expect(read(named(foreign))).rejects.toThrow("but for windows/amd64");
    const document = { architecture: "s390x" };
    await expect(read(imageLayout({ layers, document }))).rejects.toThrow("it is for linux/s390x");
  });

  it("it knows another number of layers", async () => {
    const document = { rootfs: { type: "layers", diff_ids: [] } };
    await expect(read(imageLayout({ layers, document }))).rejects.toThrow("knows 0 layers");
  });

  it("a docker archive's configuration is another one", async () => {
    const archive = dockerArchive({ layers });
    const at = archive.indexOf('"os":"linux"');
    const evil = Buffer.concat([archive.subarray(0, at), Buffer.from('"os":"Linux"'), archive.subarray(at + 12)]);
    await expect(read(evil)).rejects.toThrow("its configuration has the digest");
  });

  it("a docker archive's layer is another one", async () => {
    const archive = dockerArchive({ layers: [makeTar([file("a", "XYZZY")])] });
    archive.write("EVIL!", archive.indexOf("XYZZY"));
    await expect(read(archive)).rejects.toThrow("it unpacks to other bytes");
  });

  it("names in the archive are there twice, or lead out", async () => {
    await expect(read(makeTar([file("a"), file("a")]))).rejects.toThrow("is in the archive twice");
    await expect(read(makeTar([link("manifest.json", "/etc/passwd")]))).rejects.toThrow("out of the folder");
    await expect(read(makeTar([file("../a")]))).rejects.toThrow("leads out");
  });

  it("it is no image at all", async () => {
    await expect(read(makeTar([file("a")]))).rejects.toThrow("neither an OCI layout nor made by docker save");
    await expect(read(Buffer.from("hello"))).rejects.toThrow("cut short");
    await expect(read(Buffer.alloc(0))).rejects.toThrow("cut short");
  });

  it("it holds several and none is named", async () => {
    const annotations = (name: string) => ({ "org.opencontainers.image.ref.name": name });
    const other = makeImage({ layers, config: { Cmd: ["other"] } });
    const archive = layoutArchive(
      [
        { ...descriptorOf(manifest), annotations: annotations("one") },
        { ...descriptorOf(other.manifest), annotations: annotations("two") },
      ],
      [config, manifest, ...layerBlobs, other.config, other.manifest],
    );
    await expect(read(archive)).rejects.toThrow("one is to be named: one, two");
    expect((await readBack(parent, archive, { name: "two" })).digest).toBe(sha256(other.config.bytes));
    await expect(readBack(parent, archive, { name: "three" })).rejects.toThrow("none named three");
  });
});
