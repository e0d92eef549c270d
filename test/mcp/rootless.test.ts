import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { engines, soak } from "../harness.ts";
import { findObstacle, OrdinaryUser } from "../ordinary-user.ts";

const obstacle = await findObstacle();
const timeoutMs = 240_000;

/** What a client of `caisson mcp` is answered, both run by that user. */
async function answer(user: OrdinaryUser, engine = "container"): Promise<string> {
  const program = [".build/bin/node", "test/mcp/rootless-client.ts"].map((path) => join(user.checkout, path));
  const { stdout, stderr } = await user.run([...program, engine], timeoutMs / 2);
  expect(stdout, stderr).not.toBe("");
  return stdout;
}

describe.skipIf(obstacle)(`caisson mcp of an ordinary user${obstacle ? ` (left out: ${obstacle})` : ""}`, () => {
  it("[MCP-01] runs tools in sandboxes of its own, and leaves nothing", { timeout: timeoutMs }, async () => {
    await using user = await OrdinaryUser.make();
    for (const engine of engines) {
      expect(JSON.parse(await answer(user, engine))).toMatchObject({ exit_code: 0, stdout: "1000\n" });
      await vi.waitFor(() => expect(user.processes()).toEqual([]), { timeout: 30_000 });
      expect(await readdir(join(user.folder, "home/caisson/stdio"))).toEqual([]);
    }
  });

  it.runIf(soak)("[MCP-01] says what a user lacks who has no subordinate ids, and how to get them", async () => {
    await using user = await OrdinaryUser.make({ subordinate: false });
    expect(await answer(user, engines[0])).toContain("usermod --add-subuids");
  });
});
