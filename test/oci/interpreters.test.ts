import { expect, it } from "vitest";
import { noApt } from "../../packages/server/src/core/apt.ts";
import { makeHome } from "../fleet/fixture.ts";
import { engines, ordinary } from "../harness.ts";
import { admin, logOf, openImages } from "../images/fixture.ts";
import { file, imageLayout, makeTar } from "./made-image.ts";
import { inPieces } from "./read-back.ts";
import { smallRoot } from "./small-root.ts";

/** In place of Python and Node.js: it says who runs it. */
const impostor = "#!/bin/bash\necho $UID >>/tmp/who\n";

it.skipIf(ordinary).each(engines)(
  "[S20] what an image of others has for Python is never run as root of a sandbox (%s)",
  async (engine) => {
    await using home = await makeHome();
    await using service = await openImages(home.home, { apt: noApt, dns: "127.0.0.1:9" });
    const programs = ["python3", "node"].map((name) => file(`usr/bin/${name}`, impostor, 0o755));
    const layers = [makeTar([...smallRoot(), ...programs])];
    const { record } = await service.oci.load(admin, inPieces(imageLayout({ layers })), { name: "evil" });
    expect((await logOf(service, record.id)).at(-1)).toMatchObject({ state: "ready" });
    for (const warm of ["first-use", "start"] as const) {
      const { record: sandbox } = await service.create(admin, { image: "evil", engine, warm });
      await service.fleet.use(admin, sandbox.id, async (box) => {
        for (const language of ["python", "node", "python", "node"] as const)
          expect(await box.executeCode({ language, code: "1" })).toMatchObject({ exit_code: 0, warm: false });
        expect((await box.exec({ command: "cat /tmp/who" })).stdout).toBe("1000\n".repeat(4));
      });
      await service.fleet.destroy(admin, sandbox.id);
    }
    await service.imageBuilds.delete(admin, "evil");
  },
  120_000,
);
