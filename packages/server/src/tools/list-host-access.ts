import { z } from "zod";
import { defineTool } from "./tool.ts";

const patterns = z.array(z.string());
const answered = z.array(z.object({ pattern: z.string(), approval_id: z.string() }));

export const listHostAccess = defineTool({
  name: "list_host_access",
  title: "Show what of the host is open",
  sets: ["host"],
  scope: "use",
  description: [
    "Lists the command patterns that host_exec runs at once (`allowed`, `approved`), those that need a human's approval (`asked`), those that it never runs",
    "(`blocked`, `denied`), how it handles all others (`unknown`), and the folders that the host_file tools can use.",
    "Call it before you use another host tool.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({}),
  output: z.object({
    allowed: patterns.describe("allowed by the operator's configuration"),
    asked: patterns.describe("need a human's approval each time"),
    blocked: patterns.describe("refused, even if allowed or approved"),
    unknown: z.enum(["deny", "ask"]).describe("how a command that matches no pattern is handled"),
    approved: answered.describe("approved by a human, until revoked"),
    denied: answered.describe("denied by a human, until revoked"),
    folders: z.array(z.object({ path: z.string(), access: z.enum(["read", "read-write"]) })),
  }),
  run: async ({ caller, parts }) => {
    const { allowed, asked, blocked, unknown, approved, denied, folders } = await parts.host.list(caller);
    const commands = { allowed: [...allowed], asked: [...asked], blocked: [...blocked], unknown };
    return { structured: { ...commands, approved: [...approved], denied: [...denied], folders: [...folders] } };
  },
});
