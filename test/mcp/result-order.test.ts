import { describe, expect, it } from "vitest";
import { z } from "zod";
import { toCallResult } from "../../packages/server/src/mcp/tool-result.ts";
import { tools } from "../../packages/server/src/tools/tools.ts";

const fieldsOf = new Map(tools.map(({ name, output }) => [name, Object.keys((output as z.ZodObject).shape)]));

describe("the text of a tool's result", () => {
  it.each([
    ["execute_code", "stdout"],
    ["run_sandbox_code", "stdout"],
    ["host_exec", "stdout"],
    ["install_package", "installed"],
    ["read_file", "content"],
    ["host_file_read", "content"],
    ["read_skill", "content"],
    ["fetch_webpage", "content"],
    ["browser_fetch", "content"],
    ["process_output", "data"],
    ["bridge_data", "value"],
    ["search_files", "matches"],
    ["list_files", "files"],
    ["get_artifacts", "files"],
    ["web_search", "results"],
  ])("[MCP-07] of %s begins with %s", (name, field) => {
    expect(fieldsOf.get(name)?.[0]).toBe(field);
  });

  it("[MCP-07] names session and sandbox last, but where they are what was asked for", () => {
    const last = [...fieldsOf].flatMap(([name, fields]) => {
      if (!fields.includes("session_id") || ["create_session", "terminate_session", "inspect_state"].includes(name))
        return [];
      return [fields.slice(-2)];
    });
    expect(last.length).toBeGreaterThan(15);
    for (const fields of last) expect(fields).toEqual(["session_id", "sandbox_id"]);
  });

  it("[MCP-07] follows the schema and not the order in which a tool names its fields", () => {
    const output = z.object({ stdout: z.string(), exit_code: z.number(), session_id: z.string() });
    const structured = { session_id: "s", more: 1, exit_code: 0, stdout: "out" };
    const { content, structuredContent } = toCallResult({ output }, { structured });
    expect(content[0]).toEqual({
      type: "text",
      text: '{"stdout":"out","exit_code":0,"session_id":"s","more":1}',
    });
    expect(structuredContent).toEqual(structured);
  });
});
