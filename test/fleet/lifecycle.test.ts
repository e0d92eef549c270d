import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCaisson } from "../../packages/server/src/app.ts";
import { engines, guestPath, root } from "../harness.ts";
import { killProcessesOf, processesOf } from "../leaks.ts";
import { callerOf, type FleetHome, makeHome, type TestFleet, until } from "./fixture.ts";

const alice = callerOf("alice");

describe.each(engines)("the life of a sandbox (%s)", (engine) => {
  let home: FleetHome;
  let test: TestFleet;
  beforeAll(async () => {
    home = await makeHome();
    test = await home.open({ engine });
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
    expect(test.errors).toEqual([]);
  });

  const exec = async (id: string, command: string, { fleet } = test) =>
    (await fleet.use(alice, id, (sandbox) => sandbox.exec({ command }))).stdout;
  const eventsOf = (id: string) => test.events.filter(({ sandbox_id }) => sandbox_id === id).map(({ type }) => type);

  it("[LIF-05] [FIL-07] stop keeps the workspace, and the next use starts it, once for all that ask", async () => {
    const { fleet } = test;
    const { id } = (await fleet.create(alice, {})).record;
    await exec(id, "echo kept > note");
    expect(await fleet.stop(alice, id)).toMatchObject({ status: "stopped" });
    expect(processesOf(id)).toEqual([]);
    expect(await fleet.stop(alice, id)).toMatchObject({ status: "stopped" });
    await expect(fleet.pause(alice, id)).rejects.toMatchObject({ code: "conflict" });
    await expect(fleet.stats(alice, id)).rejects.toMatchObject({ code: "conflict" });
    expect(await Promise.all([1, 2, 3].map(() => exec(id, "cat note")))).toEqual(["kept\n", "kept\n", "kept\n"]);
    expect(await fleet.get(alice, id)).toMatchObject({ status: "running" });
    await fleet.stop(alice, id);
    expect(await fleet.start(alice, id)).toMatchObject({ status: "running" });
    const started = ["sandbox.stopped", "sandbox.started"];
    expect(eventsOf(id)).toEqual(["sandbox.created", ...started, ...started]);
    await fleet.destroy(alice, id);
  });

  it("[LIF-05] [FIL-07] a stopped and a running one are there with their files after a restart of the daemon", async () => {
    await using own = await makeHome();
    const ids: string[] = [];
    {
      await using first = await own.open({ engine });
      for (const name of ["one", "two"]) {
        const { id } = (await first.fleet.create(alice, {})).record;
        await exec(id, `echo ${name} > note`, first);
        ids.push(id);
      }
      await first.fleet.stop(alice, ids[0] ?? "");
    }
    await using second = await own.open({ engine });
    const records = await second.fleet.list(alice, { limit: 10 });
    expect(records.map(({ id, status }) => [id, status])).toEqual([
      [ids[1], "running"],
      [ids[0], "stopped"],
    ]);
    expect(await Promise.all(ids.map((id) => exec(id, "cat note", second)))).toEqual(["one\n", "two\n"]);
    for (const id of ids) await second.fleet.destroy(alice, id);
  });

  it("[LIF-13] reset empties the workspace, ends what runs, and leaves it running", async () => {
    const { fleet } = test;
    const { id } = (await fleet.create(alice, {})).record;
    await exec(id, "echo secret > note; mkdir -p a/b");
    const { id: process } = await fleet.use(alice, id, (sandbox) => sandbox.processes.start({ command: "sleep 1000" }));
    expect(await fleet.reset(alice, id)).toMatchObject({ id, status: "running" });
    expect(await exec(id, "find . -mindepth 1")).toBe("./output\n");
    await fleet.use(alice, id, async ({ processes }) =>
      expect(processes.list().map((info) => info.id)).not.toContain(process),
    );
    await fleet.stop(alice, id);
    expect(await fleet.reset(alice, id)).toMatchObject({ status: "running" });
    expect(eventsOf(id).filter((type) => type === "sandbox.reset").length).toBe(2);
    await fleet.destroy(alice, id);
  });

  it("[SBX-07] one that ends unasked has failed, says why, and the next use starts it with its workspace", async () => {
    const { fleet } = test;
    const { id } = (await fleet.create(alice, {})).record;
    await exec(id, "echo kept > note");
    killProcessesOf(id);
    await until(async () => (await fleet.get(alice, id)).status === "failed");
    expect(await fleet.get(alice, id)).toMatchObject({ failure: expect.stringContaining("ended") });
    expect(await exec(id, "cat note")).toBe("kept\n");
    expect(await fleet.get(alice, id)).toMatchObject({ status: "running", failure: null });
    await fleet.destroy(alice, id);
    const log = await test.store.audit.search({ sandboxId: id, after: 0 });
    expect(log.map(({ type, actor }) => [type, actor])).toEqual([
      ["sandbox.created", "key-alice"],
      ["execution.completed", "system"],
      ["sandbox.failed", "system"],
      ["sandbox.started", "key-alice"],
      ["execution.completed", "system"],
      ["sandbox.destroyed", "key-alice"],
    ]);
  });

  it("[LIF-12] what ended while no daemon ran has failed for the next one, and what is gone is gone", async () => {
    await using own = await makeHome();
    const ids: string[] = [];
    {
      await using first = await own.open({ engine });
      for (let i = 0; i < 2; i++) ids.push((await first.fleet.create(alice, {})).record.id);
      await exec(ids[0] ?? "", "echo kept > note", first);
    }
    const [ended = "", gone = ""] = ids;
    killProcessesOf(ended);
    await until(() => processesOf(ended).length === 0);
    {
      await using other = openCaisson({ home: own.home, root, guestPath });
      await other.destroySandbox(gone);
    }
    await using second = await own.open({ engine });
    expect(await second.fleet.get(alice, ended)).toMatchObject({ status: "failed" });
    await expect(second.fleet.get(alice, gone)).rejects.toMatchObject({ code: "not_found" });
    expect(await exec(ended, "cat note", second)).toBe("kept\n");
    const log = await second.store.audit.search({ sandboxId: gone, after: 0 });
    expect(log.at(-1)).toMatchObject({ type: "sandbox.destroyed", actor: "system" });
    await second.fleet.destroy(alice, ended);
  });
});
