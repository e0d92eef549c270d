import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FleetHome, makeHome } from "../fleet/fixture.ts";
import { engines, ordinary } from "../harness.ts";
import {
  admin,
  logOf,
  openImages,
  openRegistries,
  runIn,
  silent,
  type TestImages,
  type TestRegistries,
} from "./fixture.ts";

const spec = `name: made
description: a test
aliases: [registry.example/made:1]
debian: [tool, python3>=3.12]
env: { GREETING: hello, HOME: /elsewhere, http_proxy: "http://elsewhere.example" }
files:
  /etc/tool.conf: |
    as specified
  /opt/own/note: of mine
run:
  - cat /usr/share/library/text >$TREE/usr/share/copied
  - echo $(id -u) >$TREE/usr/share/made-by
`;

describe.skipIf(ordinary)("an image of a specification", () => {
  let registries: TestRegistries;
  let home: FleetHome;
  let service: TestImages;
  let id: string;

  beforeAll(async () => {
    registries = await openRegistries();
    home = await makeHome();
    const rule = {
      host: "other.example",
      port: registries.host.port,
      protocol: "tcp",
      ranges: ["127.0.0.0/8"],
    } as const;
    service = await openImages(home.home, registries, { allow: [rule] });
  });
  afterAll(async () => {
    for (const { id } of service?.images.list() ?? []) await service.imageBuilds.delete(admin, id);
    await service?.[Symbol.asyncDispose]();
    await home?.[Symbol.asyncDispose]();
    await registries?.[Symbol.asyncDispose]();
  });

  it("[IMG-04] is made step by step, each told as it begins, with all that is said", async () => {
    const { record, isNew } = await service.imageBuilds.importSpec(admin, spec);
    id = record.id;
    expect(isNew).toBe(true);
    expect(record).toMatchObject({ name: "made", source: "spec", state: "building", layerId: null });
    const said = await logOf(service, id);
    expect(said.at(-1)).toEqual({ type: "end", state: "ready", step: null, error: null });
    const steps = said.flatMap((message) => (message.type === "step" ? [message] : []));
    expect(steps.map(({ step }) => step)).toEqual([
      ...["debian: index", "debian: download", "debian: unpack", "debian: alternatives", "clean", "freeze"],
      ...["copy", "debian: settle", "files", "run 1", "run 2", "clean", "freeze"],
    ]);
    expect(steps.map(({ at, of }) => [at, of])).toEqual(steps.map((_, at) => [at + 1, 13]));
    const later = (await logOf(service, id)).filter(({ type }) => type === "step"); // for whoever comes late
    expect(later).toEqual(steps);
    const text = said.flatMap((message) => (message.type === "log" ? [message.data] : [])).join("");
    expect(text).toContain("tool_1.0");
    expect(text).toContain("/usr/bin/tool -> /usr/bin/tool.real");
    const told = service.events.map(({ type, data }) => (type === "image.building" ? data.step : type));
    expect(told).toEqual([...steps.map(({ step }) => step), "image.ready"]);
    const rows = await service.store.audit.search({ after: 0, limit: 1_000 });
    expect(rows.filter(({ type }) => type.startsWith("image.")).map(({ type }) => type)).toEqual([
      "image.requested",
      "image.ready",
    ]);
    // The tree of packages alone was there for a while, and is not any more.
    expect((await service.caisson.layers()).map((layer) => layer.id)).toEqual([service.images.get(id).layerId]);
    expect(await service.caisson.keptSandboxes()).toEqual([]);
  }, 300_000);

  it("is there at once when it is asked for again, whatever its comments and its order", async () => {
    const again = await service.imageBuilds.importSpec(admin, `# the same\n${spec}`);
    expect(again).toMatchObject({ isNew: false, record: { id, state: "ready" } });
  });

  it.each(engines)("is the root of sandboxes, by its name and its alias, with what it says (%s)", async (engine) => {
    const line = [
      "tool; cat /usr/share/copied /etc/tool.conf /opt/own/note; echo; cat /usr/share/made-by; python",
      "echo $GREETING $HOME $http_proxy; ls /usr/share; ls -d /usr/share/script-ran /output; echo x >/usr/share/new",
    ].join("\n");
    const made = await runIn(service, "made", engine, line);
    const words = made.stdout.split("\n");
    expect(words.slice(0, 5)).toEqual(["from the library", "from the library", "as specified", "of mine", "1000"]);
    expect(words[5]).toBe("Python 3.12.1");
    expect(words[6]).toMatch(/^hello \/home\/user http:\/\/127\./);
    expect(words.slice(7)).toEqual(["copied", "doc", "library", "made-by", ""]);
    expect(made.stderr).toContain("script-ran': No such file");
    expect(made.stderr).toContain("/output': No such file");
    expect(made.stderr).toMatch(/\/usr\/share\/new: (Read-only file system|Permission denied)/);
    expect(made.record).toMatchObject({ image: "made" });
    const alias = await runIn(service, "registry.example/made:1", engine, "tool");
    expect(alias).toMatchObject({ stdout: "from the library\n", record: { image: "made" } });
  });

  it("[HOS-01] is added to without a copy, and the addition is removed alone", async () => {
    const { layerId: root } = service.images.get("made");
    const added = await service.layers.build({ root, over: true }, ({ run }) =>
      run({ name: "add", text: "mkdir app && tool >app/said && echo changed >etc/tool.conf" }, silent),
    );
    expect(added.below).toEqual([root]);
    expect(added.bytes).toBeLessThan(1024 ** 2);
    await using sandbox = await service.caisson.createSandbox({ engine: "container", root: added.id });
    const { stdout } = await sandbox.exec({ command: "cat /app/said /etc/tool.conf /opt/own/note" });
    expect(stdout).toBe("from the library\nchanged\nof mine");
    await sandbox.destroy();
    await service.layers.remove(added.id);
    await expect(service.layers.build({ root: null, over: true }, async () => undefined)).rejects.toThrow(/own root/);
  }, 120_000);

  it("[IMG-04] that names an unknown package fails with its step, and leaves nothing", async () => {
    const before = await service.caisson.layers();
    const { record } = await service.imageBuilds.importSpec(admin, "name: wrong\ndebian: [tool, no-such-package]\n");
    const said = await logOf(service, record.id);
    expect(said.at(-1)).toMatchObject({ type: "end", state: "failed", step: "debian: download" });
    expect(service.images.get("wrong").error).toMatch(/^debian: download: exit code 100: .*no-such-package/s);
    expect(await service.caisson.layers()).toEqual(before);
    expect(await service.caisson.keptSandboxes()).toEqual([]);
    expect(service.events.at(-1)).toMatchObject({ type: "image.failed", data: { step: "debian: download" } });
    await expect(service.create(admin, { image: "wrong" })).rejects.toMatchObject({ code: "not_found" });
  }, 120_000);

  it("[IMG-02] that needs a newer Python than apt has is refused with the setting that helps", async () => {
    const { record } = await service.imageBuilds.importSpec(admin, "name: newer\ndebian: [python3>=3.12.2]\n");
    expect((await logOf(service, record.id)).at(-1)).toMatchObject({ state: "failed", step: "debian: index" });
    expect(service.images.get("newer").error).toContain("python3 3.12.2 or newer");
    expect(service.images.get("newer").error).toContain("have 3.12.1; images.apt in the configuration");
  });

  it("[IMG-04] whose line fails says which, what it said, and leaves nothing", async () => {
    const before = await service.caisson.layers();
    const broken = "name: broken\nrun:\n  - 'true'\n  - echo why not; echo x >/usr/share/new\n";
    const { record } = await service.imageBuilds.importSpec(admin, broken);
    expect((await logOf(service, record.id)).at(-1)).toMatchObject({ state: "failed", step: "run 2" });
    const { error } = service.images.get(record.id);
    expect(error).toContain("run 2: exit code 1: why not");
    expect(error).toContain("Read-only file system");
    expect(await service.caisson.layers()).toEqual(before);
    expect(await service.caisson.keptSandboxes()).toEqual([]);
  }, 120_000);

  it("is made by nobody who reaches what all others may, and the registries only while a step needs them", async () => {
    const reach = (name: string) => `(exec 3<>/dev/tcp/${name}/${registries.host.port}) 2>/dev/null && echo ${name}`;
    const line = `${reach("other.example")}; ${reach("allowed.example")}; true`;
    const { record } = await service.imageBuilds.importSpec(admin, `name: curious\nrun:\n  - ${line}\n`);
    const said = await logOf(service, record.id);
    expect(said.at(-1)).toMatchObject({ state: "ready" });
    expect(said.filter((message) => message.type === "log" && /^(other|allowed)\./.test(message.data))).toEqual([]);
    expect((await runIn(service, "made", "container", line)).stdout).toBe("other.example\n");
  }, 120_000);

  it("is not deleted while a sandbox has it for its root", async () => {
    const { record } = await service.create(admin, { image: "made" });
    await expect(service.imageBuilds.delete(admin, "made")).rejects.toMatchObject({ code: "conflict" });
    await service.fleet.stop(admin, record.id);
    await expect(service.imageBuilds.delete(admin, "made")).rejects.toMatchObject({
      code: "conflict",
      details: { uses: 1 },
    });
    await service.fleet.destroy(admin, record.id);
    await service.imageBuilds.delete(admin, "made");
    await expect(service.create(admin, { image: "made" })).rejects.toMatchObject({ code: "not_found" });
  });
});

describe.skipIf(ordinary)("packages of images", () => {
  it("are brought once, and kept for the next build", async () => {
    await using registries = await openRegistries();
    await using home = await makeHome();
    await using service = await openImages(home.home, registries, { keepBytes: 256 * 1024 ** 2 });
    const asked = () => registries.host.requests.filter(({ url }) => url.endsWith(".deb")).length;
    const make = async (name: string) => {
      const { record } = await service.imageBuilds.importSpec(admin, `name: ${name}\ndebian: [tool]\n`);
      expect((await logOf(service, record.id)).at(-1)).toMatchObject({ state: "ready" });
      return record.id;
    };
    const first = await make("first");
    expect(asked()).toBe(4);
    const second = await make("second");
    expect(asked()).toBe(4);
    for (const id of [first, second]) await service.imageBuilds.delete(admin, id);
  }, 300_000);
});
