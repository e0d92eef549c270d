import { z } from "zod";
import { AppError } from "../core/errors.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { isAllowed } from "../core/scope.ts";
import { callTool } from "../tools/call-tool.ts";
import { Lifeline } from "../tools/lifeline.ts";
import { type Tool, type ToolSet, toolSets } from "../tools/tool.ts";
import type { ToolParts } from "../tools/tool-parts.ts";
import { defaultSession, tools, toolsOf } from "../tools/tools.ts";
import { httpLimits } from "./limits.ts";
import { defineRoute, type Route } from "./route.ts";

const path = "/api/v1/tools";
const tag = "tools";

const toolContent = z
  .object({ type: z.enum(["text", "image", "resource_link"]) })
  .loose()
  .meta({ id: "ToolContent" });

const toolInfo = z
  .object({
    name: z.string(),
    title: z.string(),
    description: z.string(),
    sets: z.array(z.enum(toolSets)),
    input_schema: z.record(z.string(), z.unknown()),
    output_schema: z.record(z.string(), z.unknown()),
    annotations: z.record(z.string(), z.boolean()),
  })
  .meta({ id: "Tool" });

/** A tool as a path of its own: what it takes and returns, exactly. */
function shownAs(tool: Tool, { params: _, ...call }: Route): Route {
  const result = z.object({ result: tool.output, content: z.array(toolContent) });
  return {
    ...call,
    path: `${path}/${tool.name}`,
    summary: tool.title,
    scope: tool.scope,
    body: tool.input,
    responses: { 200: { description: "the result of the tool, and its content for people", schema: result } },
  } as Route;
}

/** The same tools that MCP clients have, for programs that call models by themselves. */
export function toolRoutes(parts: ToolParts): Route[] {
  const call = defineRoute({
    method: "POST",
    path: `${path}/{name}`,
    tag,
    summary: "Calls a tool by name; the request body is its input",
    scope: "read",
    audit: "tools",
    params: z.strictObject({ name: z.string().min(1).max(64) }),
    // Not a record: its names are many, if somebody wants that, and the tool looks at them again.
    body: z.unknown().meta({ id: "ToolInput", type: "object", additionalProperties: {} }),
    bodyBytes: httpLimits.codeBodyBytes,
    bodyShape: jsonLimits.data,
    problems: [404, 422, 504],
    responses: {
      200: {
        description: "the result by the tool's output schema, and its content for people",
        schema: z.object({ result: z.record(z.string(), z.unknown()), content: z.array(toolContent) }),
      },
    },
    handler: async ({ caller, params, body, signal }) => {
      const tool = tools.find(({ name }) => name === params.name);
      if (tool === undefined)
        throw new AppError("not_found", `unknown tool '${params.name}'`, { hint: `GET ${path}?set=all` });
      const lifeline = new Lifeline({ caller, parts });
      signal.addEventListener("abort", () => void lifeline.lose(signal.reason), { once: true });
      const call = { caller, parts, signal: lifeline.signal, using: lifeline.using, session: defaultSession };
      const { structured, content = [] } = await callTool(tool, call, body);
      return { status: 200, json: { result: structured, content } };
    },
  });
  return [
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists the tools for agents that the key may call, with their schemas",
      scope: "read",
      audit: null,
      query: z.strictObject({
        set: z
          .enum([...toolSets, "all"])
          .optional()
          .describe("tool sets to list (default: core)"),
      }),
      responses: {
        200: { description: "tools in the order that MCP clients see", schema: z.object({ items: z.array(toolInfo) }) },
      },
      handler: async ({ caller, query }) => {
        const sets: readonly ToolSet[] = query.set === "all" ? toolSets : [query.set ?? "core"];
        const allowed = toolsOf(sets).filter(({ scope }) => isAllowed(caller.principal, scope));
        const items = allowed.map(({ name, title, description, sets, input, output, hints }) => ({
          ...{ name, title, description, sets, annotations: hints },
          input_schema: z.toJSONSchema(input, { io: "input" }),
          output_schema: z.toJSONSchema(output, { io: "output" }),
        }));
        return { status: 200, json: { items } };
      },
    }),
    { ...call, shownAs: tools.map((tool) => shownAs(tool, call)) },
  ];
}
