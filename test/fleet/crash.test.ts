import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { engines, guestPath, root, seed, soak } from "../harness.ts";
import { killOwner } from "../sandbox/owner.ts";
import { callerOf, makeHome, small, until } from "./fixture.ts";

const alice = callerOf("alice");
const kills = soak ? 20 : 3;

interface Said {
  what: string;
  request: string;
  id: string;
}

/** Runs an owner and kills it with -9 once it has said so much; returns what it said. */
async function runAndKill(home: string, engine: EngineName, round: number, most: number): Promise<Said[]> {
  const script = join(import.meta.dirname, "fleet-owner.ts");
  const child = spawn(process.execPath, [script, home, engine, String(round)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said: Said[] = [];
  let killed: Promise<void> | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const [what = "", request = "", id = ""] = line.split(" ");
    said.push({ what, request, id });
    if (said.length === most) killed = killOwner(child);
  }
  await killed;
  expect(child.signalCode).toBe("SIGKILL");
  return said;
}

describe.each(engines)("a daemon that is killed (%s)", (engine) => {
  it(`[LIF-12] ${kills} times in the midst of its work has everything in the log that it said was done, and leaks nothing`, async () => {
    await using own = await makeHome();
    const said: Said[] = [];
    for (let round = 0; round < kills; round++)
      said.push(...(await runAndKill(own.home, engine, round, 5 + ((seed * 7 + round * 5) % 16))));
    await using test = await own.open({ engine });
    const rows = await test.store.audit.search({ after: 0, limit: 1_000 });
    const types = { created: "sandbox.created", ran: "execution.completed", destroyed: "sandbox.destroyed" };
    for (const { what, request, id } of said.filter(({ what }) => what in types))
      expect(rows).toContainEqual(
        expect.objectContaining({ type: types[what as keyof typeof types], requestId: request, sandboxId: id }),
      );
    expect(await test.store.audit.verify()).toMatchObject({ ok: true, problems: [] });

    const ending = new Set(said.filter(({ what }) => what === "ending").map(({ id }) => id));
    const lasting = new Set(said.filter(({ what, id }) => what === "created" && !ending.has(id)).map(({ id }) => id));
    const records = await test.fleet.list(alice, { limit: 100 });
    for (const id of lasting) expect(records).toContainEqual(expect.objectContaining({ id, status: "running" }));
    for (const { id } of records) {
      const { stdout } = await test.fleet.use(alice, id, (sandbox) => sandbox.exec({ command: "cat log || true" }));
      for (const ran of said)
        if (ran.what === "ran" && ran.id === id) expect(stdout.split("\n")).toContain(ran.request);
    }
    const kept = async () => (await test.caisson.keptSandboxes()).map(({ id }) => id).sort();
    await until(async () => (await kept()).length <= records.length); // the pools of the dead are removed
    expect(await kept()).toEqual(records.map(({ id }) => id).sort());
    for (const { id } of records) await test.fleet.destroy(alice, id);
    expect(await kept()).toEqual([]);
    expect(test.errors).toEqual([]);
  });
});

describe("a daemon that starts", () => {
  it("[LIF-12] removes what a daemon left without a record, and nothing that others keep in its data folder", async () => {
    await using own = await makeHome();
    const ids: string[] = [];
    {
      await using caisson = openCaisson({ home: own.home, root, guestPath });
      for (const fleet of [true, false])
        ids.push((await caisson.createSandbox({ engine: "container", limits: small, keep: true, fleet })).id);
    }
    await using test = await own.open();
    await until(async () => (await test.caisson.keptSandboxes()).length === 1);
    expect(await test.caisson.keptSandboxes()).toMatchObject([{ id: ids[1], state: "running" }]);
    expect(await test.fleet.list(alice, { limit: 10 })).toEqual([]);
  });

  it("[LIF-12] gives up no sandbox whose boundary has a record that cannot be read", async () => {
    await using own = await makeHome();
    let id: string;
    {
      await using first = await own.open();
      id = (await first.fleet.create(alice, { env: { COLOUR: "blue" } })).record.id;
      await first.fleet.use(alice, id, (sandbox) => sandbox.files.write("note", "kept"));
      await first.fleet.pause(alice, id);
    }
    const path = join(own.home, "engine/sandboxes", id, "record.json");
    const text = await readFile(path, "utf8");
    await writeFile(path, "{");
    {
      await using second = await own.open();
      expect(await second.fleet.get(alice, id)).toMatchObject({
        status: "failed",
        failure: expect.stringContaining("damaged"),
      });
      await expect(second.fleet.use(alice, id, async () => 1)).rejects.toThrow(/damaged/);
    }
    await writeFile(path, text);
    await using third = await own.open();
    expect(await third.fleet.get(alice, id)).toMatchObject({ status: "paused" });
    const { stdout } = await third.fleet.use(alice, id, (sandbox) =>
      sandbox.exec({ command: "cat note; echo $COLOUR" }),
    );
    expect(stdout).toBe("keptblue\n");
    await third.fleet.destroy(alice, id);
  });
});
