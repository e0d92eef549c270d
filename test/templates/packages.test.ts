import { describe, expect, it } from "vitest";
import { checkAllowRule } from "../../packages/server/src/egress/check-rule.ts";
import { hostFiles } from "../../packages/server/src/package-install/machine-files.ts";
import { readRegistries } from "../../packages/server/src/package-install/read-registries.ts";
import { until } from "../fleet/fixture.ts";
import { engines, ordinary } from "../harness.ts";
import { openTestServer } from "../http/server.ts";
import { reachableRegistries, whyLeftOut } from "../packages/can-get.ts";

const { pip, npm } = await reachableRegistries();
const reached = pip && npm;

describe.skipIf(ordinary).each(engines)("real packages in a template, %s", (engine) => {
  it.runIf(reached)(
    `[IMG-06] are there for its sandboxes and its warm-up, from this machine's registries${reached ? "" : whyLeftOut}`,
    async () => {
      const registries = await readRegistries(hostFiles(process.env, checkAllowRule));
      await using server = await openTestServer(engine, { packages: { registries, mustPin: false } });
      const [operator, agent] = [await server.as("operator"), await server.as("agent")];
      const made = async (asked: object) => {
        const { status, json } = await operator.post("/api/v1/templates", { storage_mb: 512, ...asked });
        expect(status, JSON.stringify(json)).toBe(202);
        const template = async () => (await operator.get(`/api/v1/templates/${json.id}`)).json;
        await until(async () => (await template()).state !== "building");
        return template();
      };
      const template = await made({
        name: "tools",
        pip: ["markupsafe"],
        npm: ["is-number@7.0.0"],
        warm_up: { language: "python", code: "import markupsafe\nsafe = str(markupsafe.escape('<'))" },
      });
      expect(template).toMatchObject({ state: "ready", error: null, pip: ["markupsafe"], memory: engine === "gvisor" });
      const { id } = (await agent.post("/api/v1/sandboxes", { template: "tools" })).json;
      const at = `/api/v1/sandboxes/${id}`;
      const { results } = (await agent.post(`${at}/contexts/python-1/run`, { code: "safe" })).json;
      expect(results[0].json).toBe("&lt;");
      const code = 'console.log(require("is-number")(5))';
      expect((await agent.post(`${at}/execute_code`, { language: "node", code })).json.stdout).toBe("true\n");
      // Its registries were open to the one that it was made in, while they were needed.
      for (const { host } of [...registries.pip.hosts, ...registries.npm.hosts]) {
        const explained = await agent.get(`/api/v1/egress/explain?host=${host}&port=443&sandbox_id=${id}`);
        expect(explained.json.action).toBe("deny");
      }
      await agent.delete(at);
      await operator.delete("/api/v1/templates/tools");
      const failed = await made({ name: "none", pip: ["no-such-package-of-caisson"] });
      expect(failed).toMatchObject({ state: "failed", step: "packages", error: expect.stringContaining("pip failed") });
      expect(await server.caisson.layers()).toEqual([]);
      expect(await server.caisson.keptSandboxes()).toEqual([]);
    },
  );
});
