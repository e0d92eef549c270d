import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FleetHome, makeHome } from "../fleet/fixture.ts";
import { engines, ordinary } from "../harness.ts";
import { admin, logOf, openImages, openRegistries, runIn, type TestImages, type TestRegistries } from "./fixture.ts";

/** Lines of a specification that mean no good, each a step of its own. */
const lines = [
  // Something that goes on after its step, and writes.
  "(trap '' TERM HUP; while echo tick >>$TREE/usr/share/ticks; do sleep 0.01; done) & disown; sleep 0.2",
  "cp $TREE/usr/share/ticks $TREE/usr/share/first; sleep 0.2; cp $TREE/usr/share/ticks $TREE/usr/share/second",
  // What later steps, the freeze and every start meet in place of folders and files.
  "rm -rf $TREE/etc $TREE/var; ln -s /proc/self $TREE/etc; mkfifo $TREE/var $TREE/usr/share/fifo",
  "ln -s / $TREE/usr/share/root; ln -s ../../../../../.. $TREE/usr/share/out; ln -s /proc/1/root $TREE/opt",
  "rm -f $TREE/usr/bin/cat; mkfifo $TREE/usr/bin/cat; mkdir -p $TREE/proc/self $TREE/workspace; ln -s /etc/shadow $TREE/srv",
  // What looks like the builder's own words.
  "echo '==> freeze'; echo '==> run 99'",
];
const spec = `name: hostile\ndebian: [tool]\nrun:\n${lines.map((line) => `  - ${JSON.stringify(line)}\n`).join("")}`;

describe.skipIf(ordinary)("an image whose specification means no good", () => {
  let registries: TestRegistries;
  let home: FleetHome;
  let service: TestImages;
  beforeAll(async () => {
    registries = await openRegistries();
    home = await makeHome();
    service = await openImages(home.home, registries);
    const { record } = await service.imageBuilds.importSpec(admin, spec);
    const said = await logOf(service, record.id);
    expect(said.at(-1)).toEqual({ type: "end", state: "ready", step: null, error: null });
    expect(said.some((one) => one.type === "step" && one.step === "run 99")).toBe(false);
    expect(await service.caisson.keptSandboxes()).toEqual([]);
  }, 120_000);
  afterAll(async () => {
    for (const { id } of service?.images.list() ?? []) await service.imageBuilds.delete(admin, id);
    await service?.[Symbol.asyncDispose]();
    await home?.[Symbol.asyncDispose]();
    await registries?.[Symbol.asyncDispose]();
  });

  it.each(engines)("[S65] leaves nothing running, and leads nobody anywhere, on %s", async (engine) => {
    const line = [
      "read -d '' -r first </usr/share/first; read -d '' -r second </usr/share/second",
      'read -d \'\' -r last </usr/share/ticks; [ "$first" = "$second" ] && [ "$second" = "$last" ] && echo still',
      "while IFS=: read name rest; do echo $name; done </etc/passwd",
      "[ -e /usr/share/out/engine ] || echo inside; ls /proc/self/fd >/dev/null && echo proc",
      "echo x >/workspace/mine && echo writes; (echo x >/usr/share/new) 2>/dev/null || echo read-only",
      "for name in /srv /opt; do (read -r text <$name) 2>/dev/null && echo $name $text; done; true",
    ].join("; ");
    const done = await runIn(service, "hostile", engine, line);
    const words = done.stdout.split("\n");
    expect(words).toEqual(expect.arrayContaining(["still", "user", "inside", "proc", "writes", "read-only"]));
    expect(done.stdout).not.toMatch(/\/srv|\/opt|\$[0-9y]/);
  });
});
