import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { as, QueueHome, type TestQueue, usual } from "../approvals/fixture.ts";
import { exchange, field } from "./field.ts";
import { dnsHost, tcpHost, webHost } from "./hosts.ts";
import { names, tcp } from "./rules.ts";

const unknown = { unknown: "ask" } as const;
const operator = as("operator");
const at = "127.64.0.1";

describe("a name that no rule knows, where a human may be asked", () => {
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

  async function pending(subject: string): Promise<string> {
    return vi.waitFor(
      async () => {
        const list = await queue.queue.list(operator, { state: "pending", limit: 100 });
        const found = list.find((approval) => approval.subject === subject);
        if (found === undefined) throw new Error(`${subject} is not asked for`);
        return found.id;
      },
      { timeout: 20_000, interval: 10 },
    );
  }

  /** 8.8.8.8 is this machine in these tests. */
  const world = { addresses: { "8.8.8.8": "127.0.0.1" } };
  const get = "GET / HTTP/1.1\r\nHost: asked.example\r\nConnection: close\r\n\r\n";

  it("[NET-09] gets its address at once, and the same connection goes through when it is approved", async () => {
    await using host = await webHost();
    await using dns = await dnsHost({ "asked.example": "8.8.8.8" });
    await using box = await field({
      policy: unknown,
      dns: dns.address,
      approvals: queue.queue,
      ports: { 80: host.port },
      ...world,
    });
    const address = String(await box.lookup("asked.example"));
    const answer = exchange(await box.tunnels.connect(address, 80), get);
    const id = await pending("asked.example:80");
    expect(dns.asked).toEqual([]);
    expect(host.connections()).toBe(0);
    await queue.queue.decide(operator, id, { approve: true });
    expect((await answer).text).toMatch(/^HTTP\/1\.1 200 /);
    expect(box.attempts).toMatchObject([
      { verdict: "allowed", approvalId: id, layer: "approval", rule: null, address: "8.8.8.8" },
    ]);
    const again = exchange(await box.tunnels.connect(address, 80), get);
    await queue.queue.decide(operator, await pending("asked.example:80"), { approve: false });
    expect((await again).text).toMatch(/^HTTP\/1\.1 403 /);
    expect(host.connections()).toBe(1);
  });

  it("[NET-09] is not looked up when it is denied, and the program learns that", async () => {
    await using dns = await dnsHost(names);
    await using box = await field({ policy: unknown, dns: dns.address, approvals: queue.queue });
    const socket = await box.tunnels.connect(at, 1080);
    socket.write(Buffer.from([5, 1, 0]));
    await once(socket, "data");
    socket.write(Buffer.from([5, 1, 0, 3, 15, ...Buffer.from("allowed.example"), 8, 0]));
    const id = await pending("allowed.example:2048");
    await queue.queue.decide(operator, id, { approve: false, reason: "not that one" });
    expect((await once(socket, "data"))[0][1]).toBe(2);
    expect(dns.asked).toEqual([]);
    expect(box.attempts.at(-1)).toMatchObject({
      verdict: "denied",
      approvalId: id,
      reason: "denied by a human: not that one",
    });
  });

  it("[NET-06] a yes for a name is none for a private network that it leads to", async () => {
    await using host = await webHost();
    await using dns = await dnsHost(names);
    await using box = await field({
      policy: unknown,
      dns: dns.address,
      approvals: queue.queue,
      ports: { 80: host.port },
    });
    const socket = await box.tunnels.connect(at, 3128);
    const answer = exchange(socket, "GET http://other.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    await queue.queue.decide(operator, await pending("other.example:80"), { approve: true });
    expect((await answer).text).toContain("not a public address");
    expect(dns.asked).toContain("other.example");
    expect(host.connections()).toBe(0);
  });

  it("[NET-09] is refused with the id to wait for when nobody answers in time", async () => {
    await using quick = await QueueHome.make();
    await using slow = await quick.open({ settings: { ...usual, holdMs: 50 } });
    await using box = await field({ policy: unknown, approvals: slow.queue });
    const request = "GET http://slow.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const { text } = await exchange(await box.tunnels.connect(at, 3128), request);
    const problem = JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4));
    const [asked] = await slow.queue.list(operator, { state: "pending", limit: 10 });
    expect(problem).toMatchObject({
      status: 403,
      details: {
        refused: "egress",
        approval_id: asked?.id,
        approval_state: "pending",
        wait: `GET /api/v1/approvals/${asked?.id}/wait`,
      },
    });
  });

  it("[NET-09] does not exist, and is refused at once, where nobody is there to be asked", async () => {
    await using quiet = await QueueHome.make();
    await using closed = await quiet.open({ settings: { ...usual, attended: false } });
    await using dns = await dnsHost(names);
    await using box = await field({ policy: unknown, dns: dns.address, approvals: closed.queue });
    expect(await box.lookup("allowed.example")).toBe(3);
    const request = "CONNECT allowed.example:443 HTTP/1.1\r\n\r\n";
    expect((await exchange(await box.tunnels.connect(at, 3128), request)).text).toMatch(/^HTTP\/1\.1 403 /);
    expect(dns.asked).toEqual([]);
    expect(await closed.queue.list(operator, { limit: 10 })).toEqual([]);
  });

  it("[NET-17] an upload past the size of its rule waits for a yes, and ends with a no", async () => {
    let got = 0;
    await using host = await tcpHost(
      (socket) =>
        void socket.on("data", (chunk) => {
          got += chunk.length;
        }),
    );
    await using dns = await dnsHost(names);
    const rule = { ...tcp("allowed.example", host.port), uploadAskBytes: 100_000 };
    await using box = await field({ policy: { allow: [rule] }, dns: dns.address, approvals: queue.queue });
    const address = String(await box.lookup("allowed.example"));
    for (const approve of [true, false]) {
      got = 0;
      const socket = await box.tunnels.connect(address, host.port);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(Buffer.alloc(400_000));
      const id = await pending(`allowed.example:${host.port}`);
      expect(got).toBeLessThanOrEqual(100_000);
      await queue.queue.decide(operator, id, { approve });
      if (approve) {
        await vi.waitFor(() => expect(got).toBe(400_000), { timeout: 20_000, interval: 10 });
        socket.destroy();
      }
      await closed;
      if (!approve) expect(got).toBeLessThanOrEqual(100_000);
    }
    await vi.waitFor(() => expect(box.attempts.at(-1)?.end?.reason).toContain("upload of more than 100000 bytes"), {
      timeout: 20_000,
    });
  });
});
