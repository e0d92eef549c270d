import { describe, expect, it } from "vitest";
import { isBlockedAddress } from "./blocked-ranges.ts";

const inside = [
  ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.31.0.1"],
  ...["192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255"],
  ...["::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::"],
  ...["fe80::1", "fd00:ec2::254", "ff02::1", "::ffff:7f00:1", "::ffff:a9fe:a9fe"],
  ...["168.63.129.16", "::ffff:0:7f00:1"],
];
const outside = ["1.1.1.1", "172.32.0.1", "100.128.0.1", "192.169.0.1", "2606:4700::1111", "::ffff:1.1.1.1"];

describe("addresses that names may not lead to", () => {
  it.each(inside)("hold %s", (address) => expect(isBlockedAddress(address)).toBe(true));
  it.each(outside)("do not hold %s", (address) => expect(isBlockedAddress(address)).toBe(false));
});
