import { describe, expect, it } from "vitest";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { Service } from "../../packages/server/src/compose/service.ts";
import type { FleetSettings } from "../../packages/server/src/core/fleet.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import type { BackgroundPolicy } from "../../packages/server/src/core/process.ts";
import { openDeployment } from "../fleet/deployment.ts";
import { makeHome, settings, until } from "../fleet/fixture.ts";
import { ordinary, root } from "../harness.ts";

interface Changed extends Partial<FleetSettings> {
  listeners?: boolean;
  background?: BackgroundPolicy;
}

const caller: Caller = {
  principal: { id: "key", name: "key", namespace: "default", role: "operator" },
  requestId: "request",
};
const engine = "gvisor";

const open = (home: string, { listeners = true, background, ...changed }: Changed = {}) =>
  openDeployment(home, {
    caisson: { listeners, ...(background && { background }) },
    settings: { ...settings, engine, ...changed },
    onError: () => undefined, // of memory that is of no use any more
  });

const listen =
  "import socket\ntry:\n  socket.socket().listen()\n  print('listens')\nexcept PermissionError:\n  print('no')";

function attempt({ fleet }: Service, id: string): Promise<string> {
  return fleet.use(caller, id, async (box) => (await box.exec({ command: ["python3", "-ISc", listen] })).stdout);
}

describe.skipIf(ordinary)("what was kept before a deployment became stricter", () => {
  it("[S78] lets nothing listen where policy refuses that now: not a checkpoint, nor a sandbox that ran on or is paused", async () => {
    await using home = await makeHome();
    const ids: string[] = [];
    let checkpoint: string;
    {
      await using daemon = await open(home.home);
      const { fleet } = daemon;
      for (const engine of ["container", "gvisor"] as const) {
        const { id } = (await fleet.create(caller, { engine })).record;
        expect(await attempt(daemon, id)).toBe("listens\n");
        ids.push(id);
      }
      checkpoint = (await fleet.checkpoints.create(caller, ids[1] ?? "", "before")).id;
      await fleet.pause(caller, ids[1] ?? "");
    }
    await using daemon = await open(home.home, { listeners: false });
    const { fleet } = daemon;
    await expect(fleet.checkpoints.restore(caller, checkpoint)).rejects.toMatchObject({ code: "forbidden" });
    for (const id of ids) {
      expect((await fleet.get(caller, id)).status).toBe("stopped");
      expect(await attempt(daemon, id)).toBe("no\n");
      await fleet.destroy(caller, id);
    }
    await fleet.checkpoints.delete(caller, checkpoint);
  });

  it("[S78] lets nothing listen where policy refuses that now: not a copy of a sandbox that an owner of its own holds", async () => {
    await using home = await makeHome();
    let id: string;
    {
      await using caisson = openCaisson({ home: home.home, root });
      id = (await caisson.createSandbox({ engine, keep: true })).id;
    }
    await using caisson = openCaisson({ home: home.home, root, listeners: false });
    await using sandbox = await caisson.attachSandbox(id);
    await expect(caisson.forkSandbox(sandbox)).rejects.toMatchObject({ code: "forbidden" });
    await caisson.destroySandbox(id);
  });

  it("[S78] lets nothing listen where policy refuses that now: not what a template's warm-up left, which is run anew", async () => {
    await using home = await makeHome();
    {
      const warmUp = { language: "shell", code: "true" } as const;
      await using daemon = await open(home.home);
      const { templates, templateBuilds } = daemon;
      await templateBuilds.create(caller, { name: "before", warmUp });
      await until(() => templates.get(caller, "before").state !== "building");
      expect(templates.get(caller, "before")).toMatchObject({ state: "ready", memory: true });
    }
    await using daemon = await open(home.home, { listeners: false });
    const { record } = await daemon.fleet.create(caller, { template: "before" });
    expect(record.template).toMatchObject({ memory: true });
    expect(await attempt(daemon, record.id)).toBe("no\n");
    await daemon.fleet.destroy(caller, record.id);
    await daemon.templateBuilds.delete(caller, "before");
  });

  it("[S78] brings back nothing that runs in the background, and no longer a life than there may be now", async () => {
    await using home = await makeHome();
    const ids: string[] = [];
    const checkpoints: string[] = [];
    {
      await using daemon = await open(home.home);
      const { fleet } = daemon;
      for (const busy of [false, true]) {
        const { id } = (await fleet.create(caller, {})).record;
        if (busy) await fleet.use(caller, id, (box) => box.processes.start({ command: "sleep 1000" }));
        checkpoints.push((await fleet.checkpoints.create(caller, id, "before")).id);
        ids.push(id);
      }
    }
    const [calm = "", busy = ""] = checkpoints;
    await using daemon = await open(home.home, {
      background: { allowed: false, mostMs: 1_000 },
      ...{ lifetimeMs: 60_000, maxLifetimeMs: 60_000 },
    });
    const { fleet } = daemon;
    // Of those that ran on, the one in which something did is stopped.
    expect(await Promise.all(ids.map(async (id) => (await fleet.get(caller, id)).status))).toEqual([
      "running",
      "stopped",
    ]);
    await expect(fleet.checkpoints.restore(caller, busy)).rejects.toMatchObject({ code: "forbidden" });
    const restored = await fleet.checkpoints.restore(caller, calm);
    const [copy] = (await fleet.fork(caller, ids[0] ?? "", { count: 1, memory: "never" })).records;
    for (const one of [restored, copy]) expect((one?.expiresAtMs ?? 0) - (one?.createdAtMs ?? 0)).toBe(60_000);
    expect((await fleet.list(caller, { limit: 10 })).map(({ id }) => id).sort()).toEqual(
      [...ids, restored.id, copy?.id ?? ""].sort(),
    );
    for (const { id } of await fleet.list(caller, { limit: 10 })) await fleet.destroy(caller, id);
    for (const one of checkpoints) await fleet.checkpoints.delete(caller, one);
  });
});
