/** The three steps of docs/hosting-servers.md, with its code and commands as they stand there. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callText, connectTo } from "../gateway/fixture.ts";
import { engines, root, soak } from "../harness.ts";
import { canHost, codeBlocks, type Hosting, openHosting, writeFiles } from "./hosting.ts";

const page = await readFile(join(root, "docs/hosting-servers.md"), "utf8");
const [program = "", readSecret = ""] = codeBlocks(page, "python");
const [requirements = ""] = codeBlocks(page, "");
const secret = "the-value-of-a-secret-4711";

/** The page's server, with a tool that uses the page's way to read secrets; a value that it returns would be masked. */
const withSecrets = `${readSecret}
import hashlib
${program.replace(
  "if __name__",
  `@mcp.tool()
async def get_settings() -> str:
    api_key = read_secret("MY_API_KEY")
    base_url = read_secret("SERVICE_URL", "https://api.example.com")
    return hashlib.sha256(api_key.encode()).hexdigest() + " " + base_url + " " + read_secret("NOTHING", "none")

@mcp.tool()
async def leak() -> dict[str, str]:
    return {"key": "is " + read_secret("MY_API_KEY")}

if __name__`,
)}`;

describe.skipIf(!canHost).each(engines)("the quick start on %s", (engine) => {
  let hosting: Hosting;
  let operator: string;
  beforeAll(async () => {
    hosting = await openHosting(engine);
    operator = await hosting.key("operator");
  }, 600_000);
  afterAll(() => hosting[Symbol.asyncDispose](), 120_000);

  it("[HOS-01] [HOS-02] [HOS-04] [HOS-09] deploys the tarball, and an agent's client calls its tool with a key for it alone", async () => {
    await writeFiles(hosting.folder, { "server.py": program, "requirements.txt": requirements });
    const words = ["-czf", "my-mcp-server.tar.gz", "server.py", "requirements.txt"];
    await promisify(execFile)("/usr/bin/tar", words, { cwd: hosting.folder });
    const server = await hosting.deploy(operator, "my-mcp-server.tar.gz");
    expect(server).toMatchObject({ name: "my-mcp-server", current: 1 });
    expect(server.endpoint).toBe(`${hosting.server.base}/sandbox/${server.id}/mcp`);
    const key = await hosting.key("agent", "default", [`server:${server.id}:get_data`]);
    const client = await connectTo(new URL(server.endpoint), key, "auto");
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["get_data"]);
    expect(await callText(client, "get_data", { query: "x" })).toBe("Result for: x");
    await client.close();
    expect((await hosting.sdk(operator).servers.get(server.id)).calls).toMatchObject({ count: 1, errors: 0 });
  }, 300_000);

  it.runIf(soak || engine === engines[0])(
    "[HOS-10] [S126] reads secrets and variables in the page's own way, and tells nobody the value of a secret",
    async () => {
      const secrets = hosting.sdk(operator).secrets;
      await secrets.put("MY_API_KEY", secret);
      await writeFiles(hosting.folder, { "server.py": withSecrets, "requirements.txt": requirements });
      const server = await hosting.deploy(operator, ".", "--name", "settings", "--secret", "MY_API_KEY");
      const call = async () => {
        const client = await connectTo(new URL(server.endpoint), operator, "auto");
        const text = await callText(client, "get_settings");
        await client.close();
        return text.split(" ");
      };
      const hash = createHash("sha256").update(secret).digest("hex");
      expect(await call()).toEqual([hash, "https://api.example.com", "none"]);
      await hosting.caisson(operator, "servers", "set", "settings", "--env", "SERVICE_URL=https://other.example.com");
      expect(await call()).toEqual([hash, "https://other.example.com", "none"]);
      const client = await connectTo(new URL(server.endpoint), operator, "auto");
      const { content, structuredContent } = await client.callTool({ name: "leak" });
      expect(JSON.stringify([content, structuredContent])).not.toContain(secret);
      expect(structuredContent).toEqual({ key: "is ***REDACTED***" });
      await client.close();
    },
    300_000,
  );
});
