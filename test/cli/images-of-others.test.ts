import { execFile, execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../daemon/up.ts";
import { ordinary, root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import { LoopbackServer } from "../oci/loopback-registry.ts";
import { dockerArchive, file, imageLayout, makeImage, makeTar, sha256 } from "../oci/made-image.ts";
import { smallRoot } from "../oci/small-root.ts";

const image = { layers: [makeTar([...smallRoot(), file("opt/here", "of an image\n")])] };

/** The daemon itself, with its own user and its own view of the machine. */
describe.skipIf(ordinary)("images of others, on the command line", () => {
  let folder: string;
  let port: number;
  let registry: LoopbackServer;

  const caisson = (...args: string[]) => {
    const others = Object.entries(process.env).filter(([name]) => !name.startsWith("CAISSON_"));
    const own = {
      CAISSON_HOME: join(folder, "home"),
      CAISSON_PORT: String(port),
      CAISSON_ENGINE: "container",
      CAISSON_IMAGES_REGISTRIES: `http://${registry.host}`,
    };
    return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const env = { ...Object.fromEntries(others), ...own };
      execFile(join(root, "caisson"), args, { env, cwd: folder }, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
      );
    });
  };

  beforeAll(async () => {
    const made = makeImage(image);
    const blobs = new Map([made.config, ...made.layers].map(({ bytes }) => [sha256(bytes), bytes]));
    registry = await LoopbackServer.open(({ url = "" }, response) => {
      const isManifest = url.includes("/manifests/");
      const bytes = isManifest ? made.manifest.bytes : blobs.get(url.split("/").at(-1) ?? "");
      response.writeHead(bytes === undefined ? 404 : 200, { "content-type": made.manifest.mediaType }).end(bytes);
    });
    folder = await mkdtemp("/var/tmp/caisson-client-");
    await mkdir(join(folder, "home"));
    await writeFile(join(folder, "home/caisson.yaml"), "pool:\n  size: 0\n");
    port = await freePort();
    expect(await caisson("up", "--detach")).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await caisson("down");
    await registry?.[Symbol.asyncDispose]();
    await vi.waitFor(() => expect(findLeaks(join(folder, "home"))).toEqual([]), 20_000);
    await rm(folder, { recursive: true });
  });

  it("[IMG-03] are pulled from a registry, loaded from a folder and an archive, and run", async () => {
    await mkdir(join(folder, "layout"));
    await writeFile(join(folder, "layout.tar"), imageLayout(image));
    execFileSync("tar", ["-C", join(folder, "layout"), "-xf", join(folder, "layout.tar")]);
    await writeFile(join(folder, "saved.tar"), dockerArchive(image, "team/saved:1"));
    const pulled = await caisson("image", "pull", `${registry.host}/team/made:1`);
    expect(pulled).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f]+\n$/) });
    expect(pulled.stderr).toContain("] download");
    const loaded = await caisson("image", "load", "layout", "--name", "layout", "--json");
    const archived = await caisson("image", "load", "saved.tar", "--json");
    const [first, second] = [loaded, archived].map(({ stdout, stderr }) =>
      JSON.parse(stdout || `{"error":${JSON.stringify(stderr)}}`),
    );
    expect(first).toMatchObject({ name: "layout", state: "ready", source: "oci" });
    expect(second).toMatchObject({ name: "team/saved:1", state: "ready", digest: first.digest });
    for (const name of [`${registry.host}/team/made:1`, "layout", "team/saved:1"]) {
      const { stdout: id, stderr } = await caisson("create", "--image", name);
      expect(stderr).toBe("");
      expect(await caisson("exec", id.trim(), "cat /opt/here")).toMatchObject({ code: 0, stdout: "of an image\n" });
      await caisson("rm", id.trim());
      expect(await caisson("image", "rm", name)).toMatchObject({ code: 0 });
    }
  }, 180_000);

  it("that are not there, or not to be had, are told", async () => {
    const missing = await caisson("image", "load", "nowhere.tar");
    expect(missing).toMatchObject({
      code: expect.any(Number),
      stderr: expect.stringContaining("cannot read 'nowhere.tar'"),
    });
    const private_ = await caisson("image", "pull", "127.0.0.1:1/x");
    expect(private_.stderr).toContain("images.registries: 127.0.0.1:1");
    await writeFile(join(folder, "bad.tar"), "no image");
    expect((await caisson("image", "load", "bad.tar", "--name", "bad")).stderr).toContain("cut short");
  });
});
