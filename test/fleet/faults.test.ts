import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { toCommand } from "../../packages/server/src/core/command.ts";
import { callerOf, makeHome } from "./fixture.ts";

const alice = callerOf("alice");
const job = toCommand({ what: { line: "true" } });

describe("a fleet whose store cannot be written", () => {
  it("[LIF-12] does nothing that it cannot log, says so, and goes on once it can", async () => {
    await using own = await makeHome();
    await using test = await own.open({ poolSize: 0 });
    const { fleet, caisson } = test;
    const { id } = (await fleet.create(alice, {})).record;
    const other = new DatabaseSync(join(own.home, "daemon/caisson.db"));
    other.exec("BEGIN IMMEDIATE");
    const refused = { code: "unavailable" };
    await Promise.all([
      expect(fleet.create(alice, {})).rejects.toMatchObject(refused),
      expect(fleet.create(alice, { sessionKey: "s" })).rejects.toMatchObject(refused),
      expect(fleet.destroy(alice, id)).rejects.toMatchObject(refused),
      expect(fleet.run(alice, id, job, {}, (sandbox) => sandbox.run())).rejects.toMatchObject(refused),
    ]);
    expect((await caisson.keptSandboxes()).map((kept) => kept.id)).toEqual([id]);
    expect((await fleet.list(alice, { limit: 10 })).map((record) => record.status)).toEqual(["running"]);
    other.exec("ROLLBACK");
    other.close();
    const again = (await fleet.create(alice, { sessionKey: "s" })).record.id;
    expect(await fleet.run(alice, id, job, {}, (sandbox) => sandbox.run())).toMatchObject({
      exit_code: 0,
    });
    for (const one of [id, again]) await fleet.destroy(alice, one);
    expect(await caisson.keptSandboxes()).toEqual([]);
  });
});
