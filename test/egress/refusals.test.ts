import { describe, expect, it } from "vitest";
import { gateLimits } from "../../packages/server/src/egress/gate-limits.ts";
import { exchange, field } from "./field.ts";
import { dnsHost } from "./hosts.ts";
import { http } from "./rules.ts";

const proxy = { address: "127.64.0.1", port: 3128 };

async function get(box: Awaited<ReturnType<typeof field>>, host: string): Promise<string> {
  const tunnel = await box.tunnels.connect(proxy.address, proxy.port);
  return (await exchange(tunnel, `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).text;
}

describe("[S98] what a gate refuses, as a run that goes on sees it", () => {
  it("is listed with its reason and a hint, once for each host and port, and only from the start to the end", async () => {
    await using box = await field({});
    await get(box, "before.example");
    using watch = box.gate.refusals.watch();
    expect(await get(box, "other.example")).toMatch(/^HTTP\/1\.1 403 /);
    await get(box, "other.example");
    await get(box, "other.example:8080");
    const rest = { kind: "denied", reason: "no rule allows other.example" };
    expect(watch.seen()).toEqual({
      refused: [
        { host: "other.example", port: 80, ...rest, hint: expect.stringContaining("caisson egress other.example:80") },
        { host: "other.example", port: 8080, ...rest, hint: expect.stringContaining("request_egress") },
      ],
      refused_truncated: false,
    });
    watch[Symbol.dispose]();
    await get(box, "after.example");
    expect(watch.seen().refused).toHaveLength(2);
  });

  it("is seen by each of two runs at once, and by a second run whose lookup the log has already", async () => {
    await using box = await field({});
    const looked = [{ host: "other.example", port: 0, kind: "denied" }];
    {
      using one = box.gate.refusals.watch();
      using two = box.gate.refusals.watch();
      expect(await box.lookup("other.example")).toBe(3);
      for (const watch of [one, two]) expect(watch.seen().refused).toMatchObject(looked);
    }
    using again = box.gate.refusals.watch();
    expect(await box.lookup("other.example")).toBe(3);
    expect(again.seen().refused).toMatchObject(looked);
    expect(again.seen().refused[0]?.hint).toMatch(/caisson egress other\.example$/);
    expect(box.attempts).toHaveLength(1);
  });

  it("tells a host that policy allows and nobody reaches from one that policy refuses", async () => {
    await using dns = await dnsHost({});
    await using box = await field({ policy: { allow: [http("allowed.example")] }, dns: dns.address });
    using watch = box.gate.refusals.watch();
    expect(await get(box, "allowed.example")).toMatch(/^HTTP\/1\.1 502 /);
    expect(watch.seen().refused).toMatchObject([
      { host: "allowed.example", port: 80, kind: "failed", hint: expect.stringContaining("policy allows it") },
    ]);
  });

  it("is bounded, and says that there was more", async () => {
    await using box = await field({});
    using watch = box.gate.refusals.watch();
    for (let n = 0; n < gateLimits.shownRefusals; n++) await box.lookup(`n${n}.example`);
    expect(watch.seen().refused_truncated).toBe(false);
    await box.lookup("more.example");
    const { refused, refused_truncated } = watch.seen();
    expect([refused.length, refused_truncated]).toEqual([gateLimits.shownRefusals, true]);
  });
});
