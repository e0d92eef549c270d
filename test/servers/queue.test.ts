import { afterAll, beforeAll, expect, it } from "vitest";
import { serverLimits } from "../../packages/server/src/servers/limits.ts";
import { callerOf, openServers, type TestServers, uploadOf } from "./fixture.ts";

let service: TestServers;
beforeAll(async () => {
  service = await openServers();
}, 120_000);
afterAll(() => service[Symbol.asyncDispose]());

it("[S124] a namespace has so many versions in the making: another one is refused before it is uploaded", async () => {
  const request = { source: { kind: "archive" }, config: { image: "host" } } as const;
  const deployAs = (name: string, namespace?: string) =>
    service.servers.deploy(callerOf(namespace), { ...request, name }, uploadOf(["broken"]));
  const all = Array.from({ length: serverLimits.making + 4 }, (_, at) => deployAs(`s${at % 3}`));
  const ended = await Promise.allSettled(all);
  const refused = ended.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  expect(refused.length).toBeGreaterThan(0);
  for (const error of refused) expect(error).toMatchObject({ code: "limit_exceeded", retryAfterMs: 5_000 });
  await deployAs("other", "another");
});
