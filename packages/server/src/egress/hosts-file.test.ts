import { describe, expect, it } from "vitest";
import { addressesIn } from "./hosts-file.ts";

const text =
  "127.0.0.1\tlocalhost\n# 10.0.0.9 gone\n10.0.0.5  db.internal DB # the database\n::5 db.internal\nnonsense db.internal\n";

describe("a hosts file", () => {
  it.each([
    ["db.internal", ["10.0.0.5", "::5"]],
    ["db", ["10.0.0.5"]],
    ["gone", []],
    ["internal", []],
    ["database", []],
  ])("gives %s the addresses %j", (name, addresses) => expect(addressesIn(text, name)).toEqual(addresses));
});
