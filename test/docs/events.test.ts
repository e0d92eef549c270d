import { describe, expect, it } from "vitest";
import { z } from "zod";
import { events } from "../../packages/server/src/core/events.ts";
import type { FeedType } from "../../packages/server/src/core/journal.ts";
import { feedTypes } from "../../packages/server/src/journal/event-row.ts";
import { tableRows, wordsOf } from "./tables.ts";

const told = tableRows("docs/events.md").flatMap(([type, , data]) => {
  const [name = ""] = wordsOf(type);
  return name.includes(".") ? [{ name, examples: wordsOf(data).map((json) => JSON.parse(json)) }] : [];
});

/** Each form that `data` of a type may have. */
const formsOf = (type: FeedType): readonly z.ZodObject[] => {
  const schema: z.ZodType = events[type].data;
  return (schema instanceof z.ZodUnion ? schema.options : [schema]) as z.ZodObject[];
};

describe("[EVT-01] docs/events.md", () => {
  it("has each type of event once, and no other", () => {
    expect(told.map(({ name }) => name).sort()).toEqual([...feedTypes].sort());
  });

  it.each(feedTypes)("shows what %s holds, in each of its forms", (type) => {
    const examples = told.find(({ name }) => name === type)?.examples ?? [];
    const strays = examples.filter((data) => !formsOf(type).some((form) => form.safeParse(data).success));
    expect(strays).toEqual([]);
    const missing = formsOf(type).flatMap(({ shape }) => {
      const shown = new Set(
        examples.filter((data) => Object.keys(data).every((key) => key in shape)).flatMap(Object.keys),
      );
      const fields = Object.keys(shape).filter((field) => !shown.has(field));
      // Why a sandbox moved is told where there is a reason.
      return examples.length === 0
        ? ["an example"]
        : fields.filter((field) => !(field === "reason" && type.startsWith("sandbox.")));
    });
    expect(missing).toEqual([]);
  });
});
