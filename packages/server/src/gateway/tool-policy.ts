import { AppError } from "../core/errors.ts";
import { mayCallTool } from "../core/scope.ts";
import { gatewayLimits } from "./limits.ts";
import { isRecord, type Params } from "./message.ts";
import { type CallContext, change, pass, refuse, type Stage, type Verdict } from "./stage.ts";

/** Decides about tools of one server. A tool that is not shown cannot be called either. */
export interface ToolPolicy {
  shows(tool: string, context: CallContext): boolean;
  judge(tool: string, given: Params, context: CallContext): Verdict | Promise<Verdict>;
}

export const allTools: ToolPolicy = { shows: () => true, judge: () => pass };

/** Refuses calls of tools that the caller's key or the policy does not allow. */
export function callableTools(policy: ToolPolicy): Stage {
  return (message, context) => {
    if (!("method" in message) || message.method !== "tools/call") return pass;
    const { name, arguments: given = {} } = message.params ?? {};
    if (typeof name !== "string" || !isRecord(given))
      return refuse(new AppError("invalid", "tools/call takes the name of a tool, and an object of arguments"));
    if (!mayCallTool(context.caller.principal, context.server.id, name) || !policy.shows(name, context))
      return refuse(
        new AppError("forbidden", `the tool ${JSON.stringify(name)} is not allowed for this key`, {
          hint: `the key needs the scope server:${context.server.id}, or one that ends in the name of the tool`,
        }),
      );
    return policy.judge(name, given, context);
  };
}

/** Shows of a list of tools those that the caller may call. */
export function listedTools(policy: ToolPolicy): Stage {
  return (message, context) => {
    if (!("result" in message) || context.request?.method !== "tools/list") return pass;
    const { tools } = message.result;
    if (!Array.isArray(tools)) return pass;
    if (tools.length > gatewayLimits.tools)
      return refuse(new AppError("too_large", `the server lists more than ${gatewayLimits.tools} tools`));
    const { principal } = context.caller;
    const isShown = (tool: unknown) =>
      isRecord(tool) &&
      typeof tool.name === "string" &&
      mayCallTool(principal, context.server.id, tool.name) &&
      policy.shows(tool.name, context);
    const shown = tools.filter(isShown);
    return shown.length === tools.length ? pass : change({ ...message, result: { ...message.result, tools: shown } });
  };
}
