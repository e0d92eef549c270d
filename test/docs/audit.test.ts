import { describe, expect, it } from "vitest";
import { ocsfClasses, placeOf } from "../../packages/server/src/audit/ocsf-class.ts";
import { tableRows, wordsOf } from "./tables.ts";

const rows = tableRows("docs/audit.md", "| entries | class |");

describe("docs/audit.md", () => {
  it("has each class of OCSF that entries are exported in, and no other", () => {
    const classes = Object.values(ocsfClasses).map(({ name, uid }) => `${name} (${uid})`);
    expect(rows.map(([, name]) => name).sort()).toEqual(classes.sort());
  });

  it("puts each entry that it names into the class that it is exported in", () => {
    const named = rows.flatMap(([entries, name]) => wordsOf(entries).map((type) => ({ type, name })));
    expect(named.length).toBeGreaterThan(10);
    for (const { type, name } of named) {
      const { uid, name: placed } = ocsfClasses[placeOf(type).class];
      expect(`${type}: ${placed} (${uid})`).toBe(`${type}: ${name}`);
    }
  });
});
