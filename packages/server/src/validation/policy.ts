import { AppError } from "../core/errors.ts";
import type { CodeValidation, Finding } from "../core/validation.ts";

const told = 5;

/** Policy `strict`: code with an error or a danger does not run. `advise` lets everything through, findings beside it. */
export function checkPolicy({ policy, refused, findings }: CodeValidation): void {
  if (policy !== "strict" || !refused) return;
  const reasons = findings.filter(({ severity }) => severity !== "warning");
  const first = reasons.slice(0, told).map(describe).join("; ");
  const more = reasons.length > told ? `; and ${reasons.length - told} more` : "";
  throw new AppError("invalid", `the policy strict refuses this code: ${first}${more}`, {
    hint: "remove what the findings name, or use a tool with the policy advise",
    details: { refused: "code", policy, findings },
  });
}

const describe = ({ rule, message, line, column }: Finding) => `${line}:${column} ${rule}: ${message}`;
