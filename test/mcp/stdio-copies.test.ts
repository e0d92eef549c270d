import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ordinary } from "../harness.ts";
import { resultOf } from "./results.ts";
import { connectStdio, openStdioHome, ownedFolders } from "./stdio-program.ts";

it.skipIf(ordinary)(
  "[MCP-06] caisson mcp without a daemon copies and saves its session on gVisor, and nothing of that outlives it",
  async () => {
    await using place = await openStdioHome("gvisor");
    const { client, transport, told } = await connectStdio(place.variables, "2025-11-25");
    await client.connect(transport);
    // biome-ignore lint/suspicious/noExplicitAny: each tool has a shape of its own
    const call = async (name: string, input: object): Promise<any> =>
      resultOf(await client.callTool({ name, arguments: { ...input } }));
    const run = async (session_id: string | undefined, code: string) =>
      (await call("execute_code", { code, stateful: true, ...(session_id && { session_id }) })).stdout;
    await run(undefined, "x = ['before']");
    const { copies, memory } = await call("fork_sandbox", {});
    expect(memory).toBe(true);
    const { checkpoint_id } = await call("create_checkpoint", { name: "before" });
    await run(undefined, "x.append('after')");
    const { sandbox_id } = await call("restore_checkpoint", { checkpoint_id });
    expect(await run(sandbox_id, "print(x)")).toBe("['before']\n");
    expect(await run(copies[0].sandbox_id, "print(x)")).toBe("['before']\n");
    expect(await run(undefined, "print(x)")).toBe("['before', 'after']\n");
    // Not by close(), which kills what takes longer than a few seconds to leave nothing.
    const program = Reflect.get(transport, "_process") as ChildProcess;
    const ended = once(program, "exit");
    program.stdin?.end();
    expect(await ended).toEqual([0, null]);
    await client.close();
    expect(ownedFolders(place.home)).toEqual([]);
    const left = ["checkpoints", "layers", "sandboxes"].map((name) => readdir(join(place.home, "engine", name)));
    expect((await Promise.all(left)).flat().filter((name) => name !== "mounted")).toEqual([]);
    expect(told()).toBe("");
  },
);
