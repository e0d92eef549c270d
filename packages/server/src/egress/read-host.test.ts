import { domainToUnicode } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readHost } from "./read-host.ts";

const names: [string, string][] = [
  ["api.example.com", "api.example.com"],
  ["API.Example.COM", "api.example.com"],
  ["api.example.com.", "api.example.com"],
  ["bücher.example", "xn--bcher-kva.example"],
  ["BÜCHER.example.", "xn--bcher-kva.example"],
  ["xn--BCHER-kva.example", "xn--bcher-kva.example"],
  ["a。b.example", "a.b.example"],
  ["_dmarc.example.com", "_dmarc.example.com"],
  ["r3---sn-ab.example.com", "r3---sn-ab.example.com"],
  ["1.2.3.4.example", "1.2.3.4.example"],
  ["intranet", "intranet"],
];

const addresses: [string, string][] = [
  ...["127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001"].map(
    (text): [string, string] => [text, "127.0.0.1"],
  ),
  ["127.0.0.1.", "127.0.0.1"],
  ["0X7F.0.0.1", "127.0.0.1"],
  ["１２７.０.０.１", "127.0.0.1"],
  ["0", "0.0.0.0"],
  ["::ffff:127.0.0.1", "127.0.0.1"],
  ["::ffff:7f00:1", "127.0.0.1"],
  ["[::FFFF:7F00:1]", "127.0.0.1"],
  ["0:0:0:0:0:0:0:1", "::1"],
  ["[2606:4700:0::1111]", "2606:4700::1111"],
  ["2852039166", "169.254.169.254"],
  ["0xa9fea9fe", "169.254.169.254"],
];

const nothing = [
  ...["", ".", "..", "a..b", ".a", "a b.example", "a/b", "a%62.example", "user@host.example", "a\u0000.example"],
  ...["-a.example", "a-.example", `${"a".repeat(64)}.example`, `${"a.".repeat(126)}ab.c`, "a\r\nb.example"],
  ...["256.0.0.1", "1.2.3.4.5", "127.0.0.08", "4294967296", "0x", "0x100000000", "1.0x", "a.1", "a.0x1", "1..2"],
  ...[
    "[127.0.0.1]",
    "[api.example.com]",
    "::1%lo",
    "fe80::1%eth0",
    "1:2",
    "[::1",
    "::g",
    "xn--a.example",
    "xn--.example",
  ],
  "a".repeat(5_000),
];

describe("the one form of a host", () => {
  it.each(names)("of the name %s is %s", (text, host) => expect(readHost(text)).toEqual({ kind: "name", host }));

  it.each(addresses)("[NET-06] of the address %s is %s", (text, host) => {
    expect(readHost(text)).toEqual({ kind: host.includes(":") ? "ipv6" : "ipv4", host });
  });

  it.each(nothing.map((text) => [text.slice(0, 40), text]))("is not there for %j", (_, text) => {
    expect(readHost(text)).toMatchObject({ kind: "invalid" });
  });

  it("is its own, and no text breaks it", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.domain(), fc.ipV4Extended(), fc.ipV6()), (text) => {
        const read = readHost(text);
        if (read.kind === "invalid") return;
        expect(readHost(read.host)).toEqual(read);
        expect(readHost(`${read.host}${read.kind === "ipv6" ? "" : "."}`)).toEqual(read);
        if (read.kind === "name") expect(readHost(domainToUnicode(read.host))).toEqual(read);
      }),
      { numRuns: 2_000 },
    );
  });
});
