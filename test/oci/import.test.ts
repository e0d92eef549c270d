import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { noApt } from "../../packages/server/src/core/apt.ts";
import { dnsHost } from "../egress/hosts.ts";
import { callerOf, type FleetHome, makeHome } from "../fleet/fixture.ts";
import { engines, ordinary } from "../harness.ts";
import { admin, logOf, openImages, runIn, type TestImages } from "../images/fixture.ts";
import { dockerArchive, file, folder, imageLayout, link, type MadeImage, makeTar } from "./made-image.ts";
import { inPieces } from "./read-back.ts";
import { DockerRegistry, findNoRegistry, skopeo } from "./registry-programs.ts";
import { smallRoot } from "./small-root.ts";

/** The loopback registry, under the name and port that Docker's short names mean. */
async function dockerHub(registry: string) {
  const [, port] = registry.split(":");
  const server = createServer((socket) => {
    const there = connect(Number(port), "127.0.0.1");
    socket.pipe(there).pipe(socket);
    for (const one of [socket, there]) one.on("error", () => one.destroy());
  });
  const address = `127.${process.pid & 127}.${(process.pid >> 7) & 255}.80`;
  server.listen(80, address);
  await once(server, "listening");
  const dns = await dnsHost({ "registry-1.docker.io": address });
  return {
    dns: dns.address,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await dns[Symbol.asyncDispose]();
    },
  };
}

const noRegistry = ordinary ? "images are made as root" : findNoRegistry();

describe.skipIf(noRegistry !== undefined)(`an image of others${noRegistry ? `: ${noRegistry}` : ""}`, () => {
  let folderOfTest: string;
  let registry: DockerRegistry;
  let docker: Awaited<ReturnType<typeof dockerHub>>;
  let home: FleetHome;
  let service: TestImages;
  let made: MadeImage;
  let layout: Buffer;

  beforeAll(async () => {
    folderOfTest = await mkdtemp("/var/tmp/caisson-test-");
    registry = await DockerRegistry.open(folderOfTest);
    made = {
      layers: [
        makeTar([
          ...smallRoot(),
          file("usr/bin/python3", "#!/bin/bash\necho of Python\n", 0o755),
          file("etc/old", "old"),
          file("opt/gone/x", "x"),
          file("opt/su", "", 0o4755),
        ]),
        makeTar([
          file("etc/.wh.old"),
          file("opt/.wh.gone"),
          file("opt/new", "of the second layer\n", 0o666),
          link("opt/l", "/etc"),
        ]),
        makeTar([folder("opt/closed", 0o700), file("opt/closed/x", "", 0o600)]),
      ],
      config: {
        Env: ["PATH=/usr/bin:/bin", "GREETING=hello", "https_proxy=http://evil.example"],
        WorkingDir: "/opt",
        User: "nobody",
        Entrypoint: ["/usr/bin/cat"],
        Cmd: ["/opt/new"],
      },
    };
    layout = imageLayout(made);
    await writeFile(join(folderOfTest, "made.tar"), layout);
    const image = `docker://${registry.host}/team/made:1`;
    await skopeo("copy", "--dest-tls-verify=false", `oci-archive:${folderOfTest}/made.tar`, image);
    home = await makeHome();
    docker = await dockerHub(registry.host);
    const imageRegistries = [`http://${registry.host}`, "http://registry-1.docker.io"];
    const pulls = ["docker.io/library/python", `${registry.host}/team`];
    service = await openImages(home.home, { apt: noApt, dns: docker.dns }, { imageRegistries, pulls });
  });
  afterAll(async () => {
    for (const { id } of service?.images.list() ?? []) await service.imageBuilds.delete(admin, id);
    await service?.[Symbol.asyncDispose]();
    await home?.[Symbol.asyncDispose]();
    await docker?.[Symbol.asyncDispose]();
    await registry?.[Symbol.asyncDispose]();
    await rm(folderOfTest, { recursive: true, force: true });
  });

  const staged = () => readdir(join(home.home, "daemon/oci")).catch(() => []);
  const nothingStaged = () => expect.poll(staged, { timeout: 30_000 }).toEqual([]);

  it("[IMG-03] is pulled from the registry that skopeo pushed it to", async () => {
    const { record, isNew } = await service.oci.pull(admin, { reference: `${registry.host}/team/made:1` });
    expect(isNew).toBe(true);
    const said = await logOf(service, record.id);
    expect(said.at(-1)).toEqual({ type: "end", state: "ready", step: null, error: null });
    expect(said.flatMap((one) => (one.type === "step" ? [one.step] : []))).toEqual(
      expect.arrayContaining(["download", "merge", "unpack", "freeze"]),
    );
    const text = said.flatMap((one) => (one.type === "log" ? [one.data] : [])).join("");
    expect(text).toContain('it asks for the user "nobody"; code runs as uid 1000');
    expect(text).toContain("programs lose set-uid or set-gid (1)");
    expect(service.images.get(record.id)).toMatchObject({
      name: `${registry.host}/team/made:1`,
      source: "oci",
      config: { env: { GREETING: "hello" }, user: "nobody", entrypoint: ["/usr/bin/cat"], cmd: ["/opt/new"] },
    });
    await nothingStaged();
  }, 120_000);

  it.each(engines)("[IMG-03] runs on %s, with what it asks for as far as a sandbox gives it", async (engine) => {
    const line = [
      "cat /opt/new; pwd; ls /opt /etc/old; id -u; echo $GREETING $https_proxy",
      "stat -c %h /usr/bin/cat-again; readlink /opt/l; cat-again /opt/new; python; stat -c %a /opt/su /opt/new; echo x >/opt/new",
    ].join("; ");
    const done = await runIn(service, `${registry.host}/team/made:1`, engine, line);
    const [first, ...words] = done.stdout.split("\n");
    expect(first).toBe("of the second layer");
    expect(words.join("\n")).toMatch(
      /^\/opt\n\/opt:\nclosed\nl\nnew\nsu\n1000\nhello http:\/\/127\.\S+\n2\n\/etc\nof the second layer\nof Python\n755\n666\n$/,
    );
    expect(done.stderr).toContain("/etc/old");
    expect(done.stderr).toMatch(/\/opt\/new: (Read-only file system|Permission denied)/);
  });

  it("is there already under its name, whichever way it comes again", async () => {
    const name = `${registry.host}/team/made:1`;
    const { id, digest } = service.images.get(name);
    const archives = [layout, imageLayout({ ...made, compression: "zstd" }), dockerArchive(made)];
    for (const archive of archives)
      expect(await service.oci.load(admin, inPieces(archive), { name })).toMatchObject({
        isNew: false,
        record: { id, digest },
      });
    expect(await service.oci.pull(admin, { reference: name })).toMatchObject({ isNew: false, record: { id } });
    await nothingStaged();
  });

  it("[S97] [IMG-03] is pulled for a sandbox that asks for it where images.pull names it, and nowhere else", async () => {
    for (const name of ["library/python:3.12-slim", "library/node:20-slim", "other/made:1"])
      await skopeo(
        "copy",
        "--dest-tls-verify=false",
        `oci-archive:${folderOfTest}/made.tar`,
        `docker://${registry.host}/${name}`,
      );
    const agent = callerOf("default");
    const { record } = await service.create(agent, { image: "python:3.12-slim" });
    expect(record).toMatchObject({ image: "python:3.12-slim", status: "running" });
    await service.fleet.destroy(agent, record.id);
    const before = service.images.list().length;
    for (const image of ["node:20-slim", "python:3.12", `${registry.host}/other/made:1`]) {
      const refused = service.create(agent, { image });
      await expect(refused).rejects.toMatchObject({ code: "not_found" });
    }
    await expect(service.create(agent, { image: "node:20-slim" })).rejects.toMatchObject({
      hint: expect.stringContaining("images.pull in the configuration lets sandboxes pull docker.io/library/node"),
    });
    expect(service.images.list()).toHaveLength(before);
  }, 120_000);

  it("is loaded from an archive, under the name that it has there", async () => {
    const { record } = await service.oci.load(admin, inPieces(dockerArchive(made, "of/an-archive:2")), {});
    expect((await logOf(service, record.id)).at(-1)).toMatchObject({ state: "ready" });
    expect(record).toMatchObject({ name: "of/an-archive:2", source: "oci" });
    expect(record.digest).toBe(service.images.get(`${registry.host}/team/made:1`).digest);
    expect(await runIn(service, "of/an-archive:2", "container", "cat /opt/new")).toMatchObject({
      stdout: "of the second layer\n",
    });
    await nothingStaged();
  }, 120_000);

  it("that is hostile fails with the layer and the reason, and leaves nothing", async () => {
    const before = await service.caisson.layers();
    const hostile = { layers: [...made.layers, makeTar([link("opt/out", "/etc"), file("opt/out/passwd", "evil")])] };
    const { record } = await service.oci.load(admin, inPieces(imageLayout(hostile)), { name: "hostile" });
    expect((await logOf(service, record.id)).at(-1)).toMatchObject({ state: "failed", step: "merge" });
    expect(service.images.get(record.id).error).toContain('layer 4: "opt/out/passwd" goes through a link');
    expect(await service.caisson.layers()).toEqual(before);
    expect(await service.caisson.keptSandboxes()).toEqual([]);
    await nothingStaged();
  }, 120_000);

  it("that is damaged is refused before there is anything of it", async () => {
    const before = service.images.list().length;
    const cut = layout.subarray(0, 100_000);
    await expect(service.oci.load(admin, inPieces(cut), { name: "cut" })).rejects.toThrow("cut short");
    await expect(service.oci.load(admin, inPieces(layout), {})).rejects.toThrow("is not a valid image name");
    const reference = `${registry.host}/team/none`;
    await expect(service.oci.pull(admin, { reference })).rejects.toMatchObject({ code: "not_found" });
    expect(service.images.list()).toHaveLength(before);
    await nothingStaged();
  });

  it("is pulled with credentials of the vault, which the log of audit knows and nobody sees", async () => {
    const reference = `${registry.host}/team/made:1`;
    await expect(service.oci.pull(admin, { reference, credentials: "REGISTRY" })).rejects.toThrow("unknown secret");
    await service.vault.put(admin, { name: "REGISTRY", value: Buffer.from("only-a-token") });
    await expect(service.oci.pull(admin, { reference, credentials: "REGISTRY" })).rejects.toThrow(
      "is not USER:PASSWORD",
    );
    await service.vault.put(admin, { name: "REGISTRY", value: Buffer.from("me:swordfish-7781") });
    expect(await service.oci.pull(admin, { reference, credentials: "REGISTRY" })).toMatchObject({ isNew: false });
    const rows = await service.store.audit.search({ after: 0, limit: 1_000 });
    const lent = rows.filter(({ type }) => type === "secret.lent");
    expect(lent.at(-1)).toMatchObject({ detail: { secret: "REGISTRY", version: 2, registry: registry.host } });
    expect(JSON.stringify(rows)).not.toContain("swordfish");
  });

  it("that is deleted while it waits leaves nothing staged", async () => {
    const { record } = await service.oci.load(admin, inPieces(layout), { name: "deleted-soon" });
    await service.imageBuilds.delete(admin, record.id);
    await nothingStaged();
    expect(service.images.list().some(({ name }) => name === "deleted-soon")).toBe(false);
  });
});
