import { describe, expect, it } from "vitest";
import { ocsfClasses, placeOf } from "../../packages/server/src/audit-export/ocsf-class.ts";
import { type EventKind, events } from "../../packages/server/src/core/events.ts";
import type { EventType } from "../../packages/server/src/core/journal.ts";
import { tableRows, wordsOf } from "./tables.ts";

const countedTypes = (Object.keys(events) as EventType[]).filter(
  (type) => (events[type] as EventKind).isCounted !== undefined,
);
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

  it("[S107] lists each type that may be counted, and no other", () => {
    const told = tableRows("docs/audit.md", "| counted | |").flatMap(([, types]) => wordsOf(types));
    expect(told.sort()).toEqual(countedTypes.sort());
  });
});
