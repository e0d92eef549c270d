import { describe, expect, it } from "vitest";
import { networkList, parseNetwork } from "./network-list.ts";

describe("a list of networks", () => {
  it("holds the addresses of each, IPv4 also where it is written as IPv6", () => {
    const holds = networkList(["10.0.0.0/24", "192.0.2.7", "fd00::/8"]);
    for (const address of ["10.0.0.255", "192.0.2.7", "::ffff:10.0.0.1", "fd12::1"]) expect(holds(address)).toBe(true);
    for (const address of ["10.0.1.0", "192.0.2.8", "::ffff:10.0.1.1", "fe80::1", "127.0.0.1", "", "localhost"])
      expect(holds(address)).toBe(false);
    expect(networkList([])("127.0.0.1")).toBe(false);
  });

  it("is not made of other texts", () => {
    for (const text of ["", "localhost", "10.0.0.0/33", "10.0.0", "fd00::/129", "10.0.0.1/", "10.0.0.1/8/8", "*"])
      expect(parseNetwork(text), text).toBeUndefined();
  });
});
