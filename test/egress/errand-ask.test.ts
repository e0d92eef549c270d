import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { follow } from "../../packages/server/src/web/follow.ts";
import { as, QueueHome, type TestQueue } from "../approvals/fixture.ts";
import { errands } from "./errands.ts";
import { dnsHost, webHost } from "./hosts.ts";

const operator = as("operator");

describe("what is fetched of a name that no rule knows, where a human may be asked", () => {
  let home: QueueHome;
  let queue: TestQueue;
  beforeAll(async () => {
    home = await QueueHome.make();
    queue = await home.open();
  });
  afterAll(async () => {
    await queue[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  const asked = async () => {
    const list = await queue.queue.list(operator, { state: "pending", limit: 100 });
    return list.filter(({ subject }) => subject === "asked.example:80").map(({ id }) => id);
  };
  const question = () =>
    vi.waitFor(
      async () => {
        const [id] = await asked();
        if (id === undefined) throw new Error("nobody is asked");
        return id;
      },
      { timeout: 30_000, interval: 10 },
    );

  /** A site that sends everybody on within itself, at 8.8.8.8, which is this machine in these tests. */
  async function world() {
    const host = await webHost({
      answer: ({ url }, response) => {
        if (url === "/a") response.writeHead(302, { location: "/b" }).end();
        else response.end(`this is ${url}`);
      },
    });
    const dns = await dnsHost({ "asked.example": "8.8.8.8" });
    const box = await errands({
      policy: { unknown: "ask" },
      dns: dns.address,
      approvals: queue.queue,
      ports: { 80: host.port },
      addresses: { "8.8.8.8": "127.0.0.1" },
    });
    return {
      ...box,
      host,
      fetch: (signal = new AbortController().signal) =>
        follow(box.run, new URL("http://asked.example/a"), "*/*", signal),
      async [Symbol.asyncDispose]() {
        for (const part of [box, dns, host]) await part[Symbol.asyncDispose]();
      },
    };
  }

  it("waits for the answer, and one yes is enough for where the same host sends it", async () => {
    await using web = await world();
    const fetched = web.fetch();
    const id = await question();
    expect(web.host.connections()).toBe(0);
    await queue.queue.decide(operator, id, { approve: true });
    expect(await text((await fetched).body)).toBe("this is /b");
    expect(web.attempts.map(({ approvalId }) => approvalId)).toEqual([id, id]);
    const again = web.fetch();
    await queue.queue.decide(operator, await question(), { approve: false, reason: "not twice" });
    await expect(again).rejects.toMatchObject({
      code: "forbidden",
      message: expect.stringContaining("denied by a human: not twice"),
      details: { approval_id: expect.any(String), approval_state: "denied" },
    });
    expect(web.host.connections()).toBe(2);
  });

  it("is given up by its caller while the question stands", async () => {
    await using web = await world();
    const stop = new AbortController();
    const fetched = web.fetch(stop.signal);
    const id = await question();
    stop.abort();
    await expect(fetched).rejects.toMatchObject({ code: "timeout" });
    await queue.queue.decide(operator, id, { approve: true });
    expect(web.host.connections()).toBe(0);
  });
});
