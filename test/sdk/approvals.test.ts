import { expect, it } from "vitest";
import { ApiError, Caisson } from "../../packages/sdk/src/index.ts";
import { engines } from "../harness.ts";
import { openTestServer } from "../http/server.ts";

const [engine = "container"] = engines;

it("[API-05] an agent asks and waits through the SDK, and cannot answer; an operator does", async () => {
  await using server = await openTestServer(engine, { commands: { ask: ["touch *"] }, approvals: { holdMs: 0 } });
  const as = async (role: "agent" | "operator") => {
    const { token } = await server.keyring.issue({ name: role, namespace: "default", role });
    return new Caisson({ url: server.base, key: token });
  };
  const [agent, operator] = [await as("agent"), await as("operator")];
  await using sandbox = await agent.createSandbox();
  const asked = await agent.approvals.request({ host: "api.example.com", sandbox_id: sandbox.id, purpose: "data" });
  expect(asked).toMatchObject({ state: "pending", subject: "api.example.com:443" });
  expect((await agent.approvals.wait(asked.id, { timeoutMs: 0 })).state).toBe("pending");
  await expect(agent.approvals.approve(asked.id)).rejects.toMatchObject({ status: 403 });
  const waiting = agent.approvals.wait(asked.id);
  expect(await operator.approvals.deny(asked.id, { reason: "no" })).toMatchObject({ state: "denied", reason: "no" });
  expect((await waiting).state).toBe("denied");
  const refusal = await sandbox.exec("touch x").catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(ApiError);
  const { details } = refusal as ApiError;
  const id = String(details.approval_id);
  await operator.approvals.approve(id, { scope: "sandbox" });
  expect((await sandbox.exec("touch x")).exit_code).toBe(0);
  expect(await agent.approvals.get(id)).toMatchObject({ state: "approved", scope: "sandbox" });
  await operator.approvals.revoke(id);
  await expect(sandbox.exec("touch x")).rejects.toMatchObject({ status: 403 });
  expect((await agent.approvals.list({ state: "denied" })).map(({ id }) => id)).toEqual([asked.id]);
});
