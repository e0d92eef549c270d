import { describe, expect, it } from "vitest";
import { approvalKindNames } from "../../packages/server/src/core/approval-kinds.ts";
import { scopes } from "../../packages/server/src/core/scope.ts";
import { tableRows, wordsOf } from "./tables.ts";

describe("docs/approvals.md", () => {
  it("[NET-09] lists every kind of question", () => {
    const listed = tableRows("docs/approvals.md", "| kind | about | requested by |").flatMap(([kind]) => wordsOf(kind));
    expect(listed).toEqual(approvalKindNames);
  });
});

describe("docs/rest.md", () => {
  it("[IDN-04] lists every scope, what it allows and the roles that hold it", () => {
    const listed = tableRows("docs/rest.md", "| scope | allows | roles |").map(([scope, allows, roles]) => [
      wordsOf(scope)[0],
      { allows, roles: wordsOf(roles) },
    ]);
    expect(Object.fromEntries(listed)).toEqual(scopes);
  });
});
