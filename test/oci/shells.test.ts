import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { noApt } from "../../packages/server/src/core/apt.ts";
import { type FleetHome, makeHome } from "../fleet/fixture.ts";
import { engines, ordinary } from "../harness.ts";
import { admin, logOf, openImages, runIn, type TestImages } from "../images/fixture.ts";
import { imageLayout, makeTar } from "./made-image.ts";
import { inPieces } from "./read-back.ts";
import { smallRoot } from "./small-root.ts";

const why = ordinary ? ": images are made as root here" : "";

describe.skipIf(ordinary)(`a command of one line${why}`, () => {
  let home: FleetHome;
  let service: TestImages;
  beforeAll(async () => {
    home = await makeHome();
    service = await openImages(home.home, { apt: noApt, dns: "127.0.0.1:9" });
    for (const [name, shells] of [
      ["with-sh", ["sh"]],
      ["with-none", []],
    ] as const) {
      const archive = imageLayout({ layers: [makeTar(smallRoot(shells))] });
      const { record } = await service.oci.load(admin, inPieces(archive), { name });
      expect((await logOf(service, record.id)).at(-1)).toMatchObject({ state: "ready" });
    }
  }, 120_000);
  afterAll(async () => {
    for (const { id } of service?.images.list() ?? []) await service.imageBuilds.delete(admin, id);
    await service?.[Symbol.asyncDispose]();
    await home?.[Symbol.asyncDispose]();
  });

  it.each(engines)("[IMG-03] is for /bin/sh where an image has no bash, on %s", async (engine) => {
    const done = await runIn(service, "with-sh", engine, "echo $0; ls /bin/bash; exit 3");
    expect(done).toMatchObject({ stdout: "/bin/sh\n", exit_code: 3 });
    const { record } = await service.create(admin, { image: "with-sh", engine });
    await service.fleet.use(admin, record.id, async (sandbox) => {
      const process = await sandbox.processes.start({ command: "echo in the background; exit 4" });
      expect(await process.wait()).toMatchObject({ exit_code: 4 });
      // A list is taken as it is.
      await expect(sandbox.exec({ command: ["/bin/bash", "-c", "echo x"] })).rejects.toThrow("cannot run '/bin/bash'");
    });
    await service.fleet.destroy(admin, record.id);
  });

  it.each(engines)("[IMG-03] is refused with what to do where an image has no shell, on %s", async (engine) => {
    await expect(runIn(service, "with-none", engine, "echo x")).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("cannot run /bin/bash or /bin/sh"),
      hint: expect.stringContaining("as a list"),
    });
    const { record } = await service.create(admin, { image: "with-none", engine });
    await service.fleet.use(admin, record.id, async (sandbox) => {
      await expect(sandbox.processes.start({ command: "echo x" })).rejects.toThrow("/bin/bash or /bin/sh");
      expect((await sandbox.exec({ command: ["/usr/bin/id", "-u"] })).stdout).toBe("1000\n");
    });
    await service.fleet.destroy(admin, record.id);
  });
});
