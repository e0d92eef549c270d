import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decide } from "../../packages/server/src/egress/decide.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

const [engine = "container"] = engines;

describe("what sandboxes of the library may reach", () => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson({ network: { deny: ["bad.example.com"] } });
  });
  afterAll(() => test[Symbol.asyncDispose]());

  const actionOf = async (id: string, host: string) =>
    decide((await test.caisson.policies()).policyOf(id), { host, port: 443 }).action;

  it("[API-06] is told by whoever has them, again at each attach and start, and nobody's lets nothing out", async () => {
    const network = { allow: ["*.example.com"] };
    const { id, ...made } = await test.caisson.createSandbox({ engine, keep: true, network }).then(async (sandbox) => {
      const first = [await actionOf(sandbox.id, "a.example.com"), await actionOf(sandbox.id, "bad.example.com")];
      await sandbox.detach();
      return { id: sandbox.id, first };
    });
    expect(made.first).toEqual(["allow", "deny"]);
    expect(await actionOf(id, "a.example.com")).toBe("deny");
    const attached = await test.caisson.attachSandbox(id, { network });
    expect(await actionOf(id, "a.example.com")).toBe("allow");
    await attached.stop();
    expect(await actionOf(id, "a.example.com")).toBe("deny");
    await test.caisson.startSandbox(id);
    expect(await actionOf(id, "a.example.com")).toBe("deny");
    await test.caisson.stopSandbox(id);
    const started = await test.caisson.startSandbox(id, { network });
    expect(await actionOf(id, "a.example.com")).toBe("allow");
    await started.destroy();
    expect(await actionOf(id, "a.example.com")).toBe("deny");
  });

  it("is refused with the reason where a rule cannot be, and where the network is off", async () => {
    await expect(test.caisson.createSandbox({ engine, network: { allow: ["*.com"] } })).rejects.toMatchObject({
      code: "invalid",
    });
    await using off = await openTestCaisson({ network: { enabled: false } });
    const network = { allow: ["api.example.com"] };
    await expect(off.caisson.createSandbox({ engine, network })).rejects.toMatchObject({ code: "unsupported" });
  });
});
