import { z } from "zod";
import { defineTool } from "./tool.ts";

const patterns = z.array(z.string());
const answered = z.array(z.object({ pattern: z.string(), approval_id: z.string() }));

export const listHostAccess = defineTool({
  name: "list_host_access",
  title: "Show what of the host is open",
  sets: ["host"],
  permission: "use",
  description: [
    "Lists the command patterns that host_exec runs at once (`allowed`, `approved`), those that a human is asked about (`asked`), those that it never runs",
    "(`blocked`, `denied`), what becomes of all others (`unknown`), and the folders that host_file_read, host_file_write and the others reach.",
    "Look here before you use another host tool.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({}),
  output: z.object({
    allowed: patterns.describe("by the operator's configuration"),
    asked: patterns.describe("that take a human's approval each time"),
    blocked: patterns.describe("whoever allows them"),
    unknown: z.enum(["deny", "ask"]).describe("what becomes of a command that no pattern matches"),
    approved: answered.describe("by a human, until that is revoked"),
    denied: answered.describe("by a human, likewise"),
    folders: z.array(z.object({ path: z.string(), access: z.enum(["read", "read-write"]) })),
  }),
  run: async ({ caller, parts }) => {
    const { allowed, asked, blocked, unknown, approved, denied, folders } = await parts.host.list(caller);
    const commands = { allowed: [...allowed], asked: [...asked], blocked: [...blocked], unknown };
    return { structured: { ...commands, approved: [...approved], denied: [...denied], folders: [...folders] } };
  },
});
