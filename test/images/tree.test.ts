import { describe, expect, it } from "vitest";
import { plainConfig } from "../../packages/server/src/core/image-record.ts";
import { tarEnd, tarHeader, tarPadding } from "../../packages/server/src/tar/tar-writer.ts";
import { makeHome, until } from "../fleet/fixture.ts";
import { engines, ordinary } from "../harness.ts";
import { admin, logOf, openImages, openRegistries, runIn } from "./fixture.ts";

interface Entry {
  path: string;
  text?: string;
  mode?: number;
}

/** Of this machine's own programs, each with its libraries. */
async function* archive(entries: readonly Entry[]): AsyncGenerator<Uint8Array> {
  for (const { path, text, mode } of entries) {
    if (text === undefined) yield tarHeader({ type: "directory", path, mode: mode ?? 0o755 });
    else {
      const bytes = Buffer.from(text);
      yield tarHeader({ type: "file", path, mode: mode ?? 0o644, size: bytes.length });
      yield bytes;
      yield tarPadding(bytes.length);
    }
  }
  yield tarEnd;
}

const config = {
  ...plainConfig,
  env: { GREETING: "hello", USER: "root", LANG: "C" },
  searchPath: "/own/bin:/usr/bin:/bin",
  workdir: "/own/place",
  user: "root",
  entrypoint: ["/own/bin/start"],
};
const draft = { name: "registry.example/tree:1", digest: "sha256:tree", description: "", config };

describe.skipIf(ordinary)("an image that comes as a tree", () => {
  it("is unpacked by a sandbox, and what it says of running holds as far as it may", async () => {
    await using registries = await openRegistries();
    await using home = await makeHome();
    await using service = await openImages(home.home, registries, { poolSize: 1 });
    const entries = [
      ...[{ path: "own" }, { path: "own/place", mode: 0o555 }, { path: "own/place/note", text: "of the tree\n" }],
      ...[
        { path: "own/closed", mode: 0o700 },
        { path: "etc" },
        { path: "etc/passwd", text: "stranger:x:0:0::/:/bin/sh\n" },
      ],
      ...[{ path: "proc" }, { path: "proc/version", text: "of the tree\n" }],
    ];
    const { record } = await service.imageBuilds.importTree(admin, { ...draft, open: () => archive(entries) });
    const said = await logOf(service, record.id);
    expect(said.at(-1)).toMatchObject({ state: "ready" });
    const steps = said.flatMap((message) => (message.type === "step" ? [message.step] : []));
    expect(steps).toEqual(["unpack", "clean", "freeze"]);
    expect(service.images.get(draft.name)).toMatchObject({ source: "oci", config: { user: "root" } });
    const again = await service.imageBuilds.importTree(admin, { ...draft, open: () => archive([]) });
    expect(again).toMatchObject({ isNew: false, record: { id: record.id } });
    for (const { id } of service.images.list()) await service.imageBuilds.delete(admin, id);
    expect(await service.caisson.layers()).toEqual([]);
  }, 300_000);

  it.each(engines)(
    "begins runs where it says, with its variables, and as nobody else than ever (%s)",
    async (engine) => {
      await using registries = await openRegistries();
      await using home = await makeHome();
      await using service = await openImages(home.home, registries);
      const text =
        "name: said\ndebian: [tool]\nenv: { PATH: '/opt/own:/usr/bin', GREETING: hello, USER: root }\nfiles: { /opt/own/note: x }\n";
      const { record } = await service.imageBuilds.importSpec(admin, text);
      await logOf(service, record.id);
      const made = await runIn(service, "said", engine, "echo $GREETING $USER $PATH; id -u");
      expect(made.stdout).toBe("hello user /.caisson/bin:/opt/own:/usr/bin\n1000\n");
      await service.imageBuilds.delete(admin, "said");
    },
    300_000,
  );

  it("has a pool of its own, which makes way when it is deleted or made anew", async () => {
    await using registries = await openRegistries();
    await using home = await makeHome();
    await using service = await openImages(home.home, registries, { poolSize: 1 });
    const make = async (more: string) => {
      const { record } = await service.imageBuilds.importSpec(admin, `name: pooled\ndebian: [tool]\n${more}`);
      await logOf(service, record.id);
      return record.id;
    };
    const first = await make("");
    const ready = () => service.fleet.pools().find(({ image }) => image === "pooled")?.ready === 1;
    expect((await runIn(service, "pooled", "container", "tool")).record.origin).toBe("cold: there is no pool");
    await until(ready);
    const pooled = await runIn(service, "pooled", "container", "tool");
    expect(pooled).toMatchObject({ stdout: "from the library\n", record: { origin: "pool" } });
    const second = await make("files: { /etc/version: two }\n");
    expect(second).not.toBe(first);
    expect((await runIn(service, "pooled", "container", "cat /etc/version")).stdout).toBe("two");
    await service.imageBuilds.delete(admin, first);
    await until(ready);
    await service.imageBuilds.delete(admin, second);
    expect(service.fleet.pools().map(({ image }) => image)).toEqual(["host"]);
    expect(await service.caisson.layers()).toEqual([]);
  }, 300_000);
});
