import { networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import type { AllowVerdict } from "../core/egress.ts";
import { judgeAddress } from "./connect.ts";
import { isOwnAddress } from "./own-addresses.ts";

function verdict(ranges: string[], host = "api.example.com"): AllowVerdict {
  const rule = { host, port: 443, protocol: "tcp" as const };
  return { action: "allow", layer: "sandbox", rule, rules: [rule], ranges };
}

describe("the addresses of this machine", () => {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);

  it.each(all.map(({ address }) => address.replace(/%.*/, "")))("hold %s", (address) =>
    expect(isOwnAddress(address)).toBe(true),
  );
  it("hold 127.0.0.1 in IPv6 clothes too", () => expect(isOwnAddress("::ffff:7f00:1")).toBe(true));
  it("do not hold another's", () => expect(isOwnAddress("8.8.8.8")).toBe(false));
});

describe("an address that a name leads to", () => {
  const here = { isOwnAddress: (address: string) => address === "8.8.8.8" };

  it("[NET-06] is refused where it is this machine's own, public or not", () => {
    for (const address of ["8.8.8.8", "::ffff:8.8.8.8", "::ffff:808:808", "0:0:0:0:0:FFFF:0808:0808"])
      expect(judgeAddress(here, [], verdict([]), address)).toContain("this machine");
    expect(judgeAddress(here, [], verdict([]), "8.8.4.4")).toBeUndefined();
  });

  it("[NET-06] is that machine's where a rule names the network or the address", () => {
    expect(judgeAddress(here, [], verdict(["8.8.8.0/24"]), "8.8.8.8")).toBeUndefined();
    expect(judgeAddress(here, [], verdict([], "8.8.8.8"), "8.8.8.8")).toBeUndefined();
    expect(judgeAddress(here, [], verdict(["127.0.0.0/8"]), "8.8.8.8")).toBeDefined();
  });
});
