import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { placeholderPattern } from "../../packages/server/src/core/secret.ts";
import { makeHome } from "../fleet/fixture.ts";
import { engines, ordinary } from "../harness.ts";
import { memoryHolds } from "./memory-search.ts";

const operator: Caller = {
  principal: { id: "key-operator", name: "operator", namespace: "alice", role: "operator" },
  requestId: "request",
};
const agent: Caller = { ...operator, principal: { ...operator.principal, id: "key-agent", role: "agent" } };

describe.skipIf(ordinary)("a secret that is bound as a header", () => {
  it.each(engines)(
    "[NET-12] is in no memory of the sandbox (%s); one that is bound as a variable is",
    async (engine) => {
      await using home = await makeHome();
      await using test = await home.open({ engine });
      const { fleet, vault } = test;
      const [hidden, given] = [randomBytes(16).toString("hex"), randomBytes(16).toString("hex")];
      await vault.put(operator, { name: "HIDDEN", value: Buffer.from(hidden) });
      await vault.put(operator, { name: "GIVEN", value: Buffer.from(given) });
      const all = { all: true } as const;
      const hosts = ["api.example.com"];
      const header = { as: "header", header: "Authorization", hosts, format: "Bearer {}", variable: "HIDDEN" } as const;
      await vault.bind(operator, "HIDDEN", { target: all, delivery: header });
      await vault.bind(operator, "GIVEN", { target: all, delivery: { as: "env", variable: "GIVEN" } });
      const { id } = (await fleet.create(agent, {})).record;
      await fleet.use(agent, id, async (sandbox) => {
        const holder = await sandbox.processes.start({ command: "echo ready; exec sleep 1000" });
        for await (const { data } of holder.output()) if (data.includes("ready")) break;
        const { stdout } = await sandbox.exec({ command: "env; cat /run/secrets/* 2>&1" });
        expect(stdout).toMatch(placeholderPattern);
        expect(stdout).toContain("GIVEN=***REDACTED***");
      });
      expect(memoryHolds(id, Buffer.from(given)), "the search finds what is there").toBe(true);
      expect(memoryHolds(id, Buffer.from(vault.placeholders(id)[0]?.placeholder ?? ""))).toBe(true);
      expect(memoryHolds(id, Buffer.from(hidden))).toBe(false);
      await fleet.destroy(agent, id);
    },
  );
});
