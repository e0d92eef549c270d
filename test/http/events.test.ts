import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { feedTypes } from "../../packages/server/src/journal/event-row.ts";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { type Message, messages } from "./messages.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
/** As the seed sandboxmcp has them; clients filter by these names. */
const seedTypes = [
  "execution.started",
  "execution.completed",
  "execution.failed",
  "execution.timeout",
  "session.created",
  "session.killed",
  "package.installed",
  "egress.requested",
  "egress.approved",
  "egress.denied",
  "vault.accessed",
  "resource.exceeded",
  "artifact.signed",
  "queue.backpressure",
];

describe("[EVT-01] events over REST", () => {
  let server: TestServer;
  let api: Api;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("have the fourteen names of the seed, in the feed, the OpenAPI document and the filter", async () => {
    expect(feedTypes.slice(0, 14)).toEqual(seedTypes);
    const schema = server.judge.document.components.schemas.CreateWebhook as {
      properties: { types: { items: { enum: string[] } } };
    };
    expect(schema.properties.types.items.enum).toEqual(expect.arrayContaining(seedTypes));
    const response = await api.open("GET", `/api/v1/events?types=${seedTypes.join(",")}`);
    expect(response.status).toBe(200);
    await response.body?.cancel();
  });

  it("tell of a run that is out of memory, and of one that is out of time", async () => {
    const id = await api.create({ memory_mb: 64 });
    const path = `/api/v1/sandboxes/${id}/exec`;
    expect((await api.post(path, { command: "tail /dev/zero" })).json).toMatchObject({ oom_killed: true });
    expect((await api.post(path, { command: "sleep 60", timeout_seconds: 0.2 })).json).toMatchObject({
      timed_out: true,
    });
    const types = ["resource.exceeded", "execution.failed", "execution.timeout"];
    const told: Message[] = [];
    for await (const message of messages(await api.open("GET", `/api/v1/events?types=${types}&after=0`))) {
      told.push(message);
      if (message.type === "execution.timeout") break;
    }
    const [memory, failed, timeout] = told;
    expect(told.map(({ type }) => type)).toEqual(types);
    for (const { namespace, sandbox_id } of told) expect([namespace, sandbox_id]).toEqual(["default", id]);
    expect(memory).toMatchObject({ run_id: failed?.run_id, data: { resource: "memory" } });
    expect(timeout).toMatchObject({ run_id: expect.any(String), data: { duration_ms: expect.any(Number) } });
    expect(timeout?.run_id).not.toBe(failed?.run_id);
  });
});
