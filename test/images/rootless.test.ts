import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { noApt } from "../../packages/server/src/core/apt.ts";
import { type FleetHome, makeHome } from "../fleet/fixture.ts";
import { engines, ordinary } from "../harness.ts";
import { file, imageLayout, link, makeTar } from "../oci/made-image.ts";
import { inPieces } from "../oci/read-back.ts";
import { smallRoot } from "../oci/small-root.ts";
import { findObstacle, OrdinaryUser } from "../ordinary-user.ts";
import { runVitest } from "../vitest-as-user.ts";
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

const obstacle = ordinary ? "this is one" : await findObstacle();
const title = "images of an ordinary user";
const poorTitle = "images of a user without subordinate ids";

/** The claims below, run by ordinary users. */
describe.skipIf(obstacle !== undefined)("an ordinary user", () => {
  it.each([
    ["with subordinate ids makes images and runs what is in them", true, title, 3 + 2 * engines.length],
    ["without subordinate ids is told why there can be none", false, poorTitle, 1],
  ])(
    "%s",
    async (_, subordinate, claims, count) => {
      await using user = await OrdinaryUser.make({ subordinate });
      await mkdir(join(user.folder, "tmp"), { recursive: true });
      const run = await runVitest(user, ["test/images/rootless.test.ts"], claims, 200_000);
      expect(run.failed).toEqual([]);
      expect(run.passed).toHaveLength(count);
    },
    240_000,
  );
});

const layers = [
  makeTarIfOrdinary(() => [...smallRoot(), file("etc/old", "old"), file("opt/note", "of the first\n")]),
  makeTarIfOrdinary(() => [
    file("etc/.wh.old"),
    file("opt/note", "of the second\n"),
    file("opt/closed", "x", 0o600),
    link("out", "/root"),
  ]),
];
function makeTarIfOrdinary(entries: () => Parameters<typeof makeTar>[0]): Buffer {
  return ordinary ? makeTar(entries()) : Buffer.alloc(0);
}

describe.skipIf(!ordinary)(title, () => {
  let registries: TestRegistries;
  let home: FleetHome;
  let service: TestImages;
  beforeAll(async () => {
    registries = await openRegistries();
    home = await makeHome();
    service = await openImages(home.home, registries);
  });
  afterAll(async () => {
    for (const { id } of service?.images.list() ?? []) await service.imageBuilds.delete(admin, id);
    await service?.[Symbol.asyncDispose]();
    await home?.[Symbol.asyncDispose]();
    await registries?.[Symbol.asyncDispose]();
  });

  it("are made of packages, in sandboxes of that user", async () => {
    const spec = "name: made\ndebian: [tool]\nrun:\n  - echo $(id -u) >$TREE/usr/share/made-by\n";
    const { record } = await service.imageBuilds.importSpec(admin, spec);
    expect((await logOf(service, record.id)).at(-1)).toEqual({ type: "end", state: "ready", step: null, error: null });
  }, 120_000);

  it("[HOS-01] are added to by a copy of their files", async () => {
    const { layerId: root } = service.images.get("made");
    const added = await service.layers.build({ root, over: true }, ({ run }) =>
      run({ name: "add", text: "mkdir app && tool >app/said" }, silent),
    );
    expect(added.below).toEqual([]);
    await using sandbox = await service.caisson.createSandbox({ engine: "container", root: added.id });
    expect((await sandbox.exec({ command: "cat /app/said; tool; ls /opt" })).stdout).toBe(
      "from the library\nfrom the library\n",
    );
    await sandbox.destroy();
    await service.layers.remove(added.id);
  }, 120_000);

  it("are taken from others", async () => {
    const { record } = await service.oci.load(admin, inPieces(imageLayout({ layers })), { name: "loaded" });
    expect((await logOf(service, record.id)).at(-1)).toEqual({ type: "end", state: "ready", step: null, error: null });
  }, 120_000);

  it.each(engines)("run on %s, read-only, as uid 1000", async (engine) => {
    const done = await runIn(
      service,
      "loaded",
      engine,
      "id -u; cat /opt/note /opt/closed; ls /etc/old; echo x >/opt/note",
    );
    expect(done.stdout).toBe("1000\nof the second\n");
    expect(done.stderr).toContain("/opt/closed: Permission denied"); // what is root's alone in an image is nobody's else
    expect(done.stderr).toContain("/etc/old': No such file");
    expect(done.stderr).toMatch(/\/opt\/note: (Read-only file system|Permission denied)/);
  });

  it.each(engines)("of packages run on %s", async (engine) => {
    const done = await runIn(service, "made", engine, "tool; cat /usr/share/made-by");
    expect(done).toMatchObject({ exit_code: 0, stdout: expect.stringMatching(/1000\n$/) });
  });
});

describe.skipIf(!ordinary)(poorTitle, () => {
  it("are refused with the command that gives some, before anything is made", async () => {
    await using home = await makeHome();
    await expect(openImages(home.home, { apt: noApt, dns: "127.0.0.1:9" })).rejects.toMatchObject({
      message: expect.stringContaining("has no subordinate ids"),
      hint: expect.stringContaining("--add-subuids"),
    });
    expect(existsSync(join(home.home, "engine/layers"))).toBe(false);
  });
});
