import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Daemon } from "../daemon.ts";
import { root } from "../native-programs.ts";
import { interleave, summarize, timeMs } from "../stats.ts";
import type { Workbench } from "../workbench.ts";

/** As a client's configuration starts it: a process, a handshake, and one line of Python. */
async function firstResultMs(home: string): Promise<number> {
  const env = {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    HOME: "/root",
    CAISSON_HOME: home,
    CAISSON_ENGINE: "container",
    CAISSON_MAX_STORAGE_MB: "64",
  };
  const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  const transport = new StdioClientTransport({ command: join(root, "caisson"), args: ["mcp"], env, stderr: "ignore" });
  const tookMs = await timeMs(async () => {
    await client.connect(transport);
    const result = await client.callTool({
      name: "execute_code",
      arguments: { language: "python", code: "print(1)" },
    });
    if (result.isError) throw new Error(JSON.stringify(result.content));
  });
  await client.close();
  return tookMs;
}

/** `caisson mcp` from its start to its first result. */
export async function mcpStdio(bench: Workbench): Promise<void> {
  const home = join(bench.home, "served");
  await using daemon = await Daemon.start({ home, engine: "container", poolSize: 2 });
  const steps = [home, join(bench.home, "alone")].map((home) => async () => {
    await daemon.poolFull(); // no start but the one that is measured
    return firstResultMs(home);
  });
  await interleave(1, steps);
  const [served = [], alone = []] = await interleave(bench.options.quick ? 4 : 15, steps);
  const line = { engine: "container", unit: "ms", target: { of: "value", atMost: 800 } } as const;
  bench.add({ ...line, what: "caisson mcp to its first result, by a daemon", ours: summarize(served) });
  bench.add({ ...line, what: "caisson mcp to its first result, by itself", ours: summarize(alone) });
}
