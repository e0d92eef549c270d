import { describe, expect, it } from "vitest";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { makeHome, type TestFleet } from "../fleet/fixture.ts";
import { engines } from "../harness.ts";

const operator: Caller = {
  principal: { id: "key-operator", name: "operator", namespace: "alice", role: "operator" },
  requestId: "request",
};
const agent: Caller = { ...operator, principal: { ...operator.principal, id: "key-agent", role: "agent" } };
const asFile = { target: { all: true }, delivery: { as: "file" } } as const;
const place = "/run/secrets/API_KEY";

const exec = ({ fleet }: TestFleet, id: string, command: string) =>
  fleet.use(agent, id, (sandbox) => sandbox.exec({ command }));

/** As numbers: output is not what is looked at here. Undefined when there is no such file. */
async function contentOf(test: TestFleet, id: string): Promise<Buffer | undefined> {
  const { exit_code, stdout } = await exec(test, id, `cat ${place} > /tmp/copy && od -An -v -tu1 /tmp/copy`);
  return exit_code === 0 ? Buffer.from(stdout.trim().split(/\s+/).map(Number)) : undefined;
}

describe.each(engines)("a secret that is a file (%s)", (engine) => {
  it("[SEC-03] can be read by user code and neither changed, replaced nor removed", async () => {
    await using home = await makeHome();
    await using test = await home.open({ engine });
    const { fleet, vault } = test;
    const value = Buffer.from([0, 255, 10, ...Buffer.from("any bytes at all\n"), 0]);
    await vault.put(operator, { name: "API_KEY", value });
    await vault.bind(operator, "API_KEY", asFile);
    const { id } = (await fleet.create(agent, {})).record;
    expect(await contentOf(test, id)).toEqual(value);
    expect((await exec(test, id, `stat -c '%u:%g %a' ${place} /run/secrets`)).stdout).toMatch(
      /^0:1000 440\n0:\d+ 7[15]5\n$/,
    );
    for (const attempt of [
      `echo x >> ${place}`,
      `chmod 600 ${place}`,
      `rm -f ${place}`,
      `mv ${place} /tmp/`,
      `ln -s /etc/passwd /run/secrets/OTHER`,
      `touch /run/secrets/OTHER`,
      `mkdir /run/secrets/folder`,
      `mv /run/secrets /run/mine`,
    ])
      expect((await exec(test, id, attempt)).exit_code, attempt).not.toBe(0);
    expect(await contentOf(test, id)).toEqual(value);
    expect(await vault.heldPlain(id)).toBe(true);
    await fleet.destroy(agent, id);
  });

  it("[SEC-03] changes with its value, and is gone when it is unbound, and at a stop", async () => {
    await using home = await makeHome();
    await using test = await home.open({ engine });
    const { fleet, vault } = test;
    const { id } = (await fleet.create(agent, {})).record;
    expect(await contentOf(test, id)).toBeUndefined();
    const values = ["first value", "second value"].map((text) => Buffer.from(text));
    const put = (at: number) => vault.put(operator, { name: "API_KEY", value: Buffer.from(values[at] ?? "") });
    await put(0);
    const { bindings } = await vault.bind(operator, "API_KEY", asFile);
    expect(await contentOf(test, id)).toEqual(values[0]);
    await put(1);
    expect(await contentOf(test, id)).toEqual(values[1]);
    await vault.unbind(operator, "API_KEY", bindings[0]?.id ?? "");
    expect(await contentOf(test, id)).toBeUndefined();
    await vault.bind(operator, "API_KEY", asFile);
    expect(await contentOf(test, id)).toEqual(values[1]);
    await fleet.stop(agent, id);
    await vault.delete(operator, "API_KEY");
    expect((await exec(test, id, "ls -A /run/secrets")).stdout).toBe("");
    expect(test.errors).toEqual([]);
    await fleet.destroy(agent, id);
  });

  it("[SEC-08] is there under the next daemon, and taken away by it when it has expired meanwhile", async () => {
    await using home = await makeHome();
    const value = Buffer.from("lasts for a while");
    let id = "";
    {
      await using test = await home.open({ engine });
      await test.vault.put(operator, { name: "API_KEY", value, expiresAtMs: Date.now() + 3_600_000 });
      await test.vault.bind(operator, "API_KEY", asFile);
      id = (await test.fleet.create(agent, {})).record.id;
    }
    {
      await using test = await home.open({ engine });
      expect(await contentOf(test, id)).toEqual(value);
    }
    const clock = { wallMs: () => Date.now() + 7_200_000, monotonicMs: () => performance.now() };
    await using test = await home.open({ engine }, clock);
    expect(await contentOf(test, id)).toBeUndefined();
    await test.fleet.destroy(agent, id);
  });
});
