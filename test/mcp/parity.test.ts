import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Context } from "../../packages/sdk/src/contexts.ts";
import { Caisson } from "../../packages/sdk/src/index.ts";
import { Process } from "../../packages/sdk/src/processes.ts";
import { Sandbox } from "../../packages/sdk/src/sandbox.ts";
import { clientVerbs, findVerb } from "../../packages/server/src/cli/client/verbs.ts";
import { commands } from "../../packages/server/src/cli/help.ts";
import { tools } from "../../packages/server/src/tools/tools.ts";
import { openTestServer } from "../http/server.ts";
import { parity, seedCommands, seedTools } from "./parity.ts";

const caisson = new Caisson({ url: "http://127.0.0.1:9", key: "none" });
type Made = ConstructorParameters<typeof Sandbox>;
const roots: Record<string, object> = {
  caisson,
  sandbox: new Sandbox({} as Made[0], { id: "none" } as Made[1]),
  process: Process.prototype,
  context: Context.prototype,
};

function isMethod(path: string): boolean {
  const [root = "", ...names] = path.split(".");
  let found: unknown = roots[root];
  for (const name of names) found = (found as Record<string, unknown> | undefined)?.[name];
  return typeof found === "function";
}

/** `tool NAME` calls one that has no command of its own. */
function isCommand(name: string): boolean {
  const [first, tool] = name.split(" ");
  if (first === "tool" && tool !== undefined) return tools.some((one) => one.name === tool);
  return Object.hasOwn(clientVerbs, name) || Object.hasOwn(commands, name);
}

const isReason = (text: string) => text.startsWith("- ") && text.length > 10;

describe("REST, SDK and command line", () => {
  it("[CLI-01] have the same calls: each route has a method and a command, or a reason", async () => {
    await using server = await openTestServer("container");
    expect(parity.map(([route]) => route).sort()).toEqual(
      server.routes.map(({ method, path }) => `${method} ${path}`).sort(),
    );
    expect(parity.filter(([, sdk]) => !isReason(sdk) && !isMethod(sdk))).toEqual([]);
    expect(parity.filter(([, , cli]) => !isReason(cli) && !isCommand(cli))).toEqual([]);
  });

  it("[MCP-02] [MCP-03] hold the tools of the seeds by name", () => {
    const names = tools.map(({ name }) => name);
    expect(seedTools.length).toBe(23 + 8);
    expect(seedTools.filter((name) => !names.includes(name))).toEqual([]);
  });

  it("[MCP-03] take the parameters of the seed by name", () => {
    const fields = (name: string) =>
      Object.keys(
        z.toJSONSchema(tools.find((tool) => tool.name === name)?.input ?? z.never(), { io: "input" }).properties ?? {},
      );
    expect(fields("run_sandbox_code")).toEqual(expect.arrayContaining(["code", "timeout_sec"]));
    expect(fields("validate_json_data")).toEqual(["data", "schema_name_or_dict"]);
    expect(fields("validate_csv_data")).toEqual(["csv_content", "required_headers", "type_constraints"]);
    expect(fields("create_state_snapshot")).toContain("description");
    for (const name of ["restore_state_snapshot", "delete_state_snapshot"])
      expect(fields(name)).toContain("snapshot_id");
  });

  it("[CLI-01] hold the commands of the seed by name", () => {
    expect(seedCommands.filter((name) => !isCommand(name) && findVerb(name.split(" "))?.rest.length !== 0)).toEqual([]);
  });
});
