/** A server under calls, while it is deployed again and rolled back, and while it and its daemon are killed. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Caisson } from "@caisson/sdk";
import { describe, expect, it } from "vitest";
import { caisson as caissonOf, Up } from "../daemon/up.ts";
import { callText, connectTo } from "../gateway/fixture.ts";
import { soak } from "../harness.ts";
import { canHost, writeFiles } from "./hosting.ts";

const program = `
import os
from mcp.server.fastmcp import FastMCP
import uvicorn

mcp = FastMCP("notes")

@mcp.tool()
def note(number: int) -> str:
    with open("/data/notes", "a") as file:
        file.write(f"{number}\\n")
        file.flush()
        os.fsync(file.fileno())
    return "VERSION"

@mcp.tool()
def notes() -> str:
    return open("/data/notes").read()

@mcp.tool()
def crash() -> str:
    os._exit(7)

if __name__ == "__main__":
    uvicorn.run(mcp.streamable_http_app(), host="0.0.0.0", port=8000)
`;
const requirements = "mcp[cli]>=1.0.0,<2.0.0\nuvicorn>=0.29.0,<1.0.0\n";

describe.skipIf(!canHost || !soak)("a hosted server at 10 calls per second", () => {
  it("[HOS-03] [HOS-04] loses nothing that it acknowledged and runs no call twice, whatever is killed or deployed", async () => {
    await using up = await Up.start({ variables: { CAISSON_MAX_RAM_MB: "512", CAISSON_MAX_STORAGE_MB: "1024" } });
    const key = (await readFile(join(up.home, "admin-key"), "utf8")).trim();
    const caisson = new Caisson({ url: up.base, key });
    const folder = await mkdtemp("/var/tmp/caisson-crash-");
    const deploy = async (version: string) => {
      await writeFiles(folder, { "server.py": program.replace("VERSION", version), "requirements.txt": requirements });
      const { code, stderr } = await caissonOf(["deploy", folder, "--name", "notes"], up.variables);
      expect([code, stderr.slice(-2_000)]).toEqual([0, expect.anything()]);
    };
    await deploy("1");
    const { id, endpoint } = await caisson.servers.get("notes");
    const answers: { number: number; version: string }[] = [];
    const stopped = new AbortController();
    let sent = 0;
    const calls = (async () => {
      let client = await connectTo(new URL(endpoint), key, "auto").catch(() => undefined);
      while (!stopped.signal.aborted) {
        const number = ++sent;
        try {
          client ??= await connectTo(new URL(endpoint), key, "auto");
          answers.push({ number, version: await callText(client, "note", { number }) });
        } catch {
          client = undefined; // its daemon is gone, or the outcome of the call is unknown: it is not made again
        }
        await sleep(100);
      }
    })();
    const more = async (count: number) => {
      const goal = answers.length + count;
      await expect.poll(() => answers.length, { timeout: 120_000, interval: 50 }).toBeGreaterThanOrEqual(goal);
    };
    await more(10);
    await deploy("2");
    await expect.poll(() => answers.at(-1)?.version, { timeout: 60_000 }).toBe("2");
    await more(10);
    const status = await up.status();
    process.kill(status.daemon?.pid ?? 0, "SIGKILL");
    await up.waitForRestart(status);
    await more(10);
    const crasher = await connectTo(new URL(endpoint), key, "auto");
    await expect(callText(crasher, "crash")).rejects.toThrow(/unknown/);
    await more(10);
    await caisson.servers.rollback(id, 1);
    await expect.poll(() => answers.at(-1)?.version, { timeout: 60_000 }).toBe("1");
    await more(10);
    stopped.abort();
    await calls;
    const reader = await connectTo(new URL(endpoint), key, "auto");
    const noted = (await callText(reader, "notes")).trim().split("\n").map(Number);
    expect(new Set(noted).size).toBe(noted.length);
    expect(answers.map(({ number }) => number).filter((number) => !noted.includes(number))).toEqual([]);
    await reader.close();
    await caisson.servers.delete(id);
    await rm(folder, { recursive: true });
  }, 900_000);
});
