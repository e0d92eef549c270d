import { expect, it } from "vitest";
import type { AuditEntry } from "../core/audit.ts";
import { auditLimits } from "../store/limits.ts";
import { RowBudget } from "./row-budget.ts";

const entry = (type: string): AuditEntry => ({
  ...{ type, namespace: "default", actor: "system", sandboxId: "one", requestId: null },
  detail: { host: "api.example.com" },
});

it("[S107] a flood of refusals hides no connection, use of a secret or link", () => {
  const budget = new RowBudget();
  for (let row = 0; row < auditLimits.budgetRows; row++) expect(budget.judge(entry("egress.denied"))).toBe("row");
  expect(["egress.denied", "egress.denied", "tool.called"].map((type) => budget.judge(entry(type)))).toEqual([
    "first",
    "counted",
    "counted",
  ]);
  for (const type of ["egress.allowed", "vault.accessed", "signed_url.created", "port.link", "sandbox.changed"])
    expect(budget.judge(entry(type))).toBe("row");
});

it("[S107] counts what repeats past the budget of its own type", () => {
  const budget = new RowBudget();
  for (let row = 0; row < auditLimits.budgetRows; row++) budget.judge(entry("sandbox.changed"));
  expect(budget.judge(entry("sandbox.changed"))).toBe("first");
  budget.count(entry("sandbox.changed"), 1);
  expect(budget.end()).toMatchObject([{ type: "audit.repeated", detail: { type: "sandbox.changed", count: 1 } }]);
});
