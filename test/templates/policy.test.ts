import { describe, expect, it } from "vitest";
import type { Service } from "../../packages/server/src/compose/service.ts";
import type { CommandPolicy } from "../../packages/server/src/core/command-policy.ts";
import type { NetworkOptions } from "../../packages/server/src/core/egress-policies.ts";
import { requestLimits } from "../../packages/server/src/core/limits.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import type { Role } from "../../packages/server/src/core/scope.ts";
import { openDeployment } from "../fleet/deployment.ts";
import { makeHome, settings, until } from "../fleet/fixture.ts";
import { ordinary } from "../harness.ts";

const as = (role: Role): Caller => ({
  principal: { id: `key-${role}`, name: role, namespace: "default", role },
  requestId: "request",
});
const [operator, agent] = [as("operator"), as("agent")];

interface Stricter {
  commands?: Partial<CommandPolicy>;
  network?: NetworkOptions;
  sandboxRules?: number;
}

const open = (home: string, { commands, network = {}, sandboxRules = 10 }: Stricter = {}) =>
  openDeployment(home, {
    caisson: { network },
    settings: { ...settings, commands: { ...settings.commands, ...commands } },
    sandboxRules,
    onError: (error) => expect.unreachable(String(error)),
  });

/** What it has of its own may go out to two hosts. */
const asked = {
  name: "wide",
  network: { allow: ["a.example.com", "b.example.com"] },
  warmUp: { language: "shell", code: "touch warmed" },
} as const;

const create = ({ fleet }: Service, caller: Caller) => fleet.create(caller, { template: "wide" });

describe.skipIf(ordinary)("a template and a deployment that has become stricter", () => {
  it("[S78] gives nobody more than they may have when a sandbox of it starts", async () => {
    await using home = await makeHome();
    let id: string;
    {
      await using daemon = await open(home.home);
      const { templates, templateBuilds, fleet, policies } = daemon;
      await policies.setNamespacePolicy(operator, { agentsMayAllow: ["*.example.com"] });
      const template = await templateBuilds.create(operator, asked);
      await until(() => templates.get(operator, template.id).state !== "building");
      expect(templates.get(operator, "wide")).toMatchObject({ state: "ready" });
      const { record } = await create(daemon, agent);
      id = record.id;
      await policies.setNamespacePolicy(operator, { agentsMayAllow: ["a.example.com"] });
      await expect(create(daemon, agent)).rejects.toMatchObject({ code: "forbidden" });
      const other = await create(daemon, operator); // whose rights go further
      await fleet.destroy(operator, other.record.id);
    }
    for (const [stricter, refusal] of [
      [{ sandboxRules: 1 }, { code: "invalid" }],
      [{ network: { enabled: false } }, { code: "unsupported" }],
      [{ commands: { deny: ["touch *"] } }, { code: "forbidden" }],
    ] as const) {
      await using daemon = await open(home.home, stricter as Stricter);
      await expect(create(daemon, operator)).rejects.toMatchObject(refusal);
      expect((await daemon.fleet.list(operator, { limit: 10 })).map((record) => record.id)).toEqual([id]);
    }
    {
      await using daemon = await open(home.home, { commands: { deny: ["touch *"] } });
      const { fleet } = daemon;
      await expect(fleet.reset(agent, id)).rejects.toMatchObject({ code: "forbidden" });
      expect((await fleet.get(agent, id)).status).toBe("running"); // as it was
    }
    await using daemon = await open(home.home);
    expect((await daemon.fleet.reset(agent, id)).status).toBe("running");
    await daemon.fleet.destroy(agent, id);
    await daemon.templateBuilds.delete(operator, "wide");
  });

  it("[S78] is refused where its limits are past a cap, which is named", async () => {
    await using home = await makeHome();
    {
      await using daemon = await open(home.home);
      const { templates, templateBuilds, store } = daemon;
      const { id, limits } = await templateBuilds.create(operator, { name: "wide" });
      await until(() => templates.get(operator, id).state !== "building");
      // As a release with a higher cap has left it.
      await store.templates.update(id, { limits: { ...limits, memoryBytes: requestLimits.memoryBytes.max * 2 } });
    }
    await using daemon = await open(home.home);
    const refused = expect.objectContaining({ code: "invalid", message: expect.stringContaining("memory") });
    await expect(create(daemon, operator)).rejects.toEqual(refused);
    await daemon.templateBuilds.delete(operator, "wide");
  });
});
