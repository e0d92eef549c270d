import { describe, expect, it } from "vitest";
import { approvalKindNames } from "../../packages/server/src/core/approval-kinds.ts";
import { tableRows, wordsOf } from "./tables.ts";

describe("docs/approvals.md", () => {
  it("[NET-09] lists every kind of question", () => {
    const listed = tableRows("docs/approvals.md", "| kind | about | requested by |").flatMap(([kind]) => wordsOf(kind));
    expect(listed).toEqual(approvalKindNames);
  });
});
