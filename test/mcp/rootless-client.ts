/** Run as an ordinary user: a client of `caisson mcp`, with the engine that it is told, and what it is answered. */
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [engine = ""] = process.argv.slice(2);
const { HOME = "", PATH = "", CAISSON_HOME = "" } = process.env;
const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
const env = { HOME, PATH, CAISSON_HOME, CAISSON_ENGINE: engine };
const command = join(import.meta.dirname, "../../caisson");
await client.connect(new StdioClientTransport({ command, args: ["mcp"], env, stderr: "inherit" }));
const code = "import os\nprint(os.getuid())";
const { structuredContent, content } = await client.callTool({ name: "execute_code", arguments: { code } });
console.log(JSON.stringify(structuredContent ?? content));
await client.close();
