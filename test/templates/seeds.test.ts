import { join } from "node:path";
import { expect, it } from "vitest";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { warmUpCommand } from "../../packages/server/src/core/template.ts";
import { KeptSeeds } from "../../packages/server/src/sandboxes/fleet/kept-seeds.ts";
import { Seeds } from "../../packages/server/src/sandboxes/fleet/seeds.ts";
import { Slots } from "../../packages/server/src/sandboxes/fleet/slots.ts";
import { makeHome, until } from "../fleet/fixture.ts";

const MiB = 1024 ** 2;
const caller: Caller = {
  principal: { id: "key", name: "key", namespace: "default", role: "operator" },
  requestId: "request",
};

it("[IMG-06] memory of a template that has to make room goes when those who begin with it have begun", async () => {
  await using home = await makeHome();
  await using daemon = await home.open({
    engine: "gvisor",
    limits: { memoryBytes: 128 * MiB, storageBytes: 16 * MiB },
  });
  const { templates, templateBuilds, caisson, vault } = daemon;
  const names = ["one", "two"];
  for (const name of names) await templateBuilds.create(caller, { name });
  await until(() => names.every((name) => templates.get(caller, name).state === "ready"));
  const ready = names.map((name) => {
    const code = `mine = ${JSON.stringify(name)}`;
    return { ...templates.choose(caller, name), without: null, warmUp: warmUpCommand({ language: "python", code }) };
  });
  const errors: unknown[] = [];
  const seeds = new Seeds({
    maker: caisson,
    removals: { remove: (id) => caisson.destroySandbox(id) },
    starts: new Slots(4),
    kept: new KeptSeeds({
      copies: caisson.copies,
      keys: vault,
      folder: join(home.home, "seeds"),
      swept: async () => {},
    }),
    room: 1,
    onError: (error) => errors.push(error),
  });
  const asked = [...ready, ...ready, ...ready];
  const grown = await Promise.all(asked.map((template) => seeds.grow(template)));
  for (const [at, sandbox] of grown.entries()) {
    if (typeof sandbox === "string") throw new Error(sandbox);
    const { context } = await sandbox.contexts.shared("python");
    const { results } = await context.run("mine");
    expect(results[0]?.json).toBe(asked[at]?.name);
    await sandbox.destroy();
  }
  expect(errors).toEqual([]);
  for (const { id } of ready) await seeds.drop(id);
  for (const name of names) await templateBuilds.delete(caller, name);
  expect(await caisson.layers()).toEqual([]);
});
