import { execFileSync } from "node:child_process";
import { chmod, link, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pull } from "./loopback-registry.ts";
import { file, imageLayout, makeTar } from "./made-image.ts";
import { inPieces, type Listing, leftIn, listTar, readBack } from "./read-back.ts";
import { DockerRegistry, findNoRegistry, skopeo, umoci } from "./registry-programs.ts";

const noRegistry = findNoRegistry();

/** As GNU tar writes a folder of this machine: long names, hard links, links out, rights. */
async function gnuLayer(folder: string, format: "gnu" | "pax"): Promise<Buffer> {
  const long = `${"long-folder-name-".repeat(6)}/${"and-a-long-file-name-".repeat(8)}`;
  await mkdir(join(folder, "etc/empty"), { recursive: true });
  await mkdir(join(folder, long, ".."), { recursive: true });
  await writeFile(join(folder, "etc/motd"), "hello");
  await writeFile(join(folder, "etc/old"), "goes");
  await writeFile(join(folder, long), "deep");
  await writeFile(join(folder, "run.sh"), "#!/bin/sh\n");
  await writeFile(join(folder, "grüße"), "utf-8");
  await chmod(join(folder, "run.sh"), 0o755);
  await chmod(join(folder, "etc/empty"), 0o500);
  await link(join(folder, "etc/motd"), join(folder, "etc/motd.again"));
  await symlink("/etc/motd", join(folder, "absolute"));
  await symlink("etc", join(folder, "relative"));
  const args = ["--numeric-owner", `--format=${format}`, "--sort=name", "-C", folder, "-cf", "-", "."];
  return execFileSync("tar", args, { maxBuffer: 1e8 });
}

describe.skipIf(noRegistry !== undefined)(`an image of Debian's registry${noRegistry ? `: ${noRegistry}` : ""}`, () => {
  let folder: string;
  let staging: string;
  let registry: DockerRegistry;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "caisson-oci-"));
    staging = join(folder, "staging");
    registry = await DockerRegistry.open(folder);
    const layers = [
      await gnuLayer(join(folder, "tree"), "gnu"),
      makeTar([file("etc/.wh.old"), file("etc/motd", "changed"), file("new/below", "new", 0o600)]),
    ];
    await writeFile(join(folder, "made.tar"), imageLayout({ layers, config: { Env: ["A=1"], Cmd: ["/run.sh"] } }));
    const image = `docker://${registry.host}/some/made:1`;
    await skopeo("copy", "--dest-tls-verify=false", `oci-archive:${folder}/made.tar`, image);
    await skopeo("copy", "--src-tls-verify=false", image, `docker-archive:${folder}/docker.tar:some/made:1`);
    await skopeo("copy", "--src-tls-verify=false", image, `oci:${folder}/layout:1`);
    await skopeo("copy", "--src-tls-verify=false", image, `oci-archive:${folder}/oci.tar:1`);
    await skopeo("copy", "--dest-compress-format=zstd", `oci:${folder}/layout:1`, `oci-archive:${folder}/zstd.tar:1`);
    execFileSync("tar", ["-C", join(folder, "layout"), "-czf", join(folder, "layout.tar.gz"), "."]);
  });
  afterAll(async () => {
    await registry[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  it("is the same from the registry, a layout and an archive [IMG-03]", async () => {
    const pulled = await pull(staging, `${registry.host}/some/made:1`, { registries: [`http://${registry.host}`] });
    const read = await Promise.all(
      ["docker.tar", "oci.tar", "zstd.tar", "layout.tar.gz", "made.tar"].map(async (name) =>
        readBack(staging, await readFile(join(folder, name))),
      ),
    );
    for (const { digest, tree } of read) {
      expect(digest).toBe(pulled.digest);
      expect(tree).toEqual(pulled.tree);
    }
    const told = JSON.parse(
      (await skopeo("inspect", "--raw", "--tls-verify=false", `docker://${registry.host}/some/made:1`)).stdout,
    );
    expect(pulled.digest).toBe(told.config.digest);
    expect(await leftIn(staging)).toEqual([]);
  });

  it("is the same where its layers are cut into chunks of zstd [IMG-03]", async () => {
    // skopeo's release of Debian 12 drops what stands after the end of an archive: there must be nothing.
    const layers = [makeTar([file("a", "1".repeat(70_000)), file("b", "2")]), makeTar([file(".wh.b"), file("c")])];
    await writeFile(join(folder, "plain.tar"), imageLayout({ layers }));
    const chunked = ["copy", "--dest-compress-format=zstd:chunked", `oci-archive:${folder}/plain.tar`];
    await skopeo(...chunked, `oci-archive:${folder}/chunked.tar:1`);
    const [plain, read] = await Promise.all(
      ["plain.tar", "chunked.tar"].map(async (name) => readBack(staging, await readFile(join(folder, name)))),
    );
    expect(read?.manifestDigest).not.toBe(plain?.manifestDigest);
    expect(read?.digest).toBe(plain?.digest);
    expect(read?.tree).toEqual(plain?.tree);
    expect(Object.keys(read?.tree ?? {})).toEqual(["a", "c"]);
  });

  it("is the tree that another program makes of it", async () => {
    const { tree } = await readBack(staging, await readFile(join(folder, "made.tar")));
    const bundle = join(folder, "unpacked");
    await umoci("raw", "unpack", "--image", `${folder}/layout:1`, bundle);
    const args = ["--numeric-owner", "--format=pax", "--sort=name", "-C", bundle, "-cf", "-", "."];
    const truth = await listTar(inPieces(execFileSync("tar", args, { maxBuffer: 1e8 })));
    delete truth[""];
    expect(withoutLinks(tree)).toEqual(withoutLinks(truth));
  });

  it("is not there under another name", async () => {
    const registries = [`http://${registry.host}`];
    await expect(pull(staging, `${registry.host}/some/made:2`, { registries })).rejects.toThrow("has no some/made:2");
    await expect(pull(staging, `${registry.host}/none`, { registries })).rejects.toThrow("has no none:latest");
  });

  it("is not asked for where no operator has named its registry", async () => {
    await expect(pull(staging, `${registry.host}/some/made:1`, { registries: [] })).rejects.toMatchObject({
      code: "forbidden",
    });
  });

  /** Which of two names comes first differs. */
  function withoutLinks(tree: Listing): Listing {
    return Object.fromEntries(
      Object.entries(tree).map(([path, text]) => [path, text.startsWith("h ") ? (tree[text.slice(2)] ?? "") : text]),
    );
  }
});
