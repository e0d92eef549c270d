import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkAllowRule } from "../../packages/server/src/egress/check-rule.ts";
import { builtIn } from "../../packages/server/src/package-install/built-in.ts";
import { hostFiles } from "../../packages/server/src/package-install/machine-files.ts";
import { readRegistries } from "../../packages/server/src/package-install/read-registries.ts";
import { certificate } from "../egress/certificate.ts";
import { dnsHost, webHost } from "../egress/hosts.ts";
import { names } from "../egress/rules.ts";
import { until } from "../fleet/fixture.ts";
import { engines, ordinary } from "../harness.ts";
import type { Api } from "../http/api.ts";
import { openTestServer } from "../http/server.ts";

const hasPip = (await builtIn("pip")) !== null;
const path = "/api/v1/sandboxes";
const value = "value-of-a-template-1";
const look = `grep -rs ${value} /run/secrets /workspace /home/user; echo $KEY`;

async function bindSecret(operator: Api): Promise<void> {
  await operator.put("/api/v1/secrets/KEY", value);
  for (const deliver of [{ as: "env", variable: "KEY" }, { as: "file" }])
    expect((await operator.post("/api/v1/secrets/KEY/bindings", { target: { all: true }, deliver })).status).toBe(201);
}

async function settled(operator: Api, asked: object) {
  const { json } = await operator.post("/api/v1/templates", asked);
  const template = async () => (await operator.get(`/api/v1/templates/${json.id}`)).json;
  await until(async () => (await template()).state !== "building");
  return template();
}

/** A registry that answers nothing before it is let. */
async function slowRegistry() {
  const held: ServerResponse[] = [];
  let isOpen = false;
  const refuse = (response: ServerResponse) => response.writeHead(404).end();
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp("/var/tmp/caisson-test-");
  opened.defer(() => rm(folder, { recursive: true }));
  const dns = opened.use(await dnsHost(names));
  const index = opened.use(
    await webHost({ tls: true, answer: (_, response) => void (isOpen ? refuse(response) : held.push(response)) }),
  );
  await writeFile(join(folder, "authority.pem"), certificate);
  const text = `[global]\nindex-url = https://allowed.example:${index.port}/simple/\ncert = ${join(folder, "authority.pem")}\n`;
  await writeFile(join(folder, "pip.conf"), text);
  const own = hostFiles({ HOME: folder, PIP_CONFIG_FILE: join(folder, "pip.conf") }, checkAllowRule);
  const registries = await readRegistries({
    ...own,
    text: async (file) => (file.startsWith(folder) ? own.text(file) : undefined),
  });
  const kept = opened.move();
  return {
    held,
    letGo: () => {
      isOpen = true;
      held.forEach(refuse);
    },
    options: { network: { dnsServers: [dns.address] }, packages: { registries, mustPin: false } },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

describe.skipIf(ordinary).each(engines)("the sandbox that a template is made in, %s", (engine) => {
  it.runIf(hasPip)("[S79] has no secret of its namespace, and no agent finds it", async () => {
    await using registry = await slowRegistry();
    await using server = await openTestServer(engine, registry.options);
    const [operator, agent] = [await server.as("operator"), await server.as("agent")];
    await bindSecret(operator);
    const { json } = await operator.post("/api/v1/templates", { name: "slow", pip: ["slow"] });
    await until(() => registry.held.length > 0);
    const [{ id }] = (await operator.get(path)).json;
    expect((await operator.post(`${path}/${id}/exec`, { command: look })).json.stdout).toBe("\n");
    expect((await operator.put("/api/v1/secrets/KEY", `${value}2`)).status).toBe(200); // whoever has it gets this one
    expect((await operator.post(`${path}/${id}/exec`, { command: look })).json.stdout).toBe("\n");
    expect((await agent.get(path)).json).toEqual([]);
    const tries = [
      await agent.get(`${path}/${id}`),
      await agent.post(`${path}/${id}/exec`, { command: "touch planted" }),
      await agent.put(`${path}/${id}/files/planted`, "planted"),
      await agent.post(`${path}/${id}/fork`, { memory: "never" }),
      await agent.post(`${path}/${id}/snapshots`),
      await agent.delete(`${path}/${id}`),
    ];
    expect(tries.map(({ status }) => status)).toEqual(tries.map(() => 404));
    registry.letGo();
    await until(async () => (await operator.get(`/api/v1/templates/${json.id}`)).json.state === "failed");
  });

  it("[LIF-10] leaves no value of a secret in what the template keeps: its sandboxes have it from the vault alone", async () => {
    await using server = await openTestServer(engine);
    const [operator, agent] = [await server.as("operator"), await server.as("agent")];
    await bindSecret(operator);
    const warm_up = { language: "python", code: "import os; seen = 'KEY' in os.environ" };
    const template = await settled(operator, { name: "secret", warm_up });
    expect(template).toMatchObject({ state: "ready", memory: engine === "gvisor" });
    const { json } = await agent.post(path, { template: "secret" });
    const at = `${path}/${json.id}`;
    const { results } = (await agent.post(`${at}/contexts/python-1/run`, { code: "seen" })).json;
    expect(results[0].json).toBe(false);
    const { stdout } = (await agent.post(`${at}/exec`, { command: 'test -n "$KEY" && echo here' })).json;
    expect(stdout).toBe("here\n");
    await agent.delete(at);
    expect((await operator.delete("/api/v1/templates/secret")).status).toBe(204);
  });
});
