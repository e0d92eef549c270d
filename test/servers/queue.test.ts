import { afterAll, beforeAll, expect, it } from "vitest";
import { serverLimits } from "../../packages/server/src/servers/limits.ts";
import { callerOf, makeServersHome, removeAll, type ServersHome, type TestServers, uploadOf } from "./fixture.ts";

let home: ServersHome;
let service: TestServers;
beforeAll(async () => {
  home = await makeServersHome("container");
  service = await home.open();
}, 120_000);
afterAll(async () => {
  await removeAll(service);
  await service[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

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
