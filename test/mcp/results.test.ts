import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toolLimits } from "../../packages/server/src/tools/limits.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient, eras } from "./client.ts";

const [engine = "container"] = engines;
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';

describe("what a run made", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  describe.each(eras)("to a client of %s", (era) => {
    let client: Client;
    beforeAll(async () => {
      client = await connectClient(server, era);
    });
    afterAll(() => client.close());

    const run = (code: string, more: object = {}) =>
      client.callTool({ name: "execute_code", arguments: { code, language: "python", ...more } });
    const beside = async (code: string, more: object = {}) => {
      const { content, isError = false } = await run(code, more);
      expect([isError, content[0]?.type]).toEqual([false, "text"]);
      return content.slice(1);
    };

    it("[MCP-07] comes as images, and as links that can be read", async () => {
      const content = await beside(`
import base64, os
os.makedirs('output', exist_ok=True)
open('output/chart.png', 'wb').write(base64.b64decode('${png}'))
open('output/drawing.svg', 'w').write('${svg}')
open('output/table ä.csv', 'w').write('a,b')
open('elsewhere.png', 'wb').write(base64.b64decode('${png}'))
`);
      const svgData = Buffer.from(svg).toString("base64");
      expect(content).toMatchObject([
        { type: "image", mimeType: "image/png", data: png },
        { type: "image", mimeType: "image/svg+xml", data: svgData },
        { type: "resource_link", name: "output/table ä.csv", mimeType: "text/csv", size: 3 },
      ]);
      const { uri } = content[2] as { uri: string };
      expect((await client.readResource({ uri })).contents).toMatchObject([{ text: "a,b" }]);
      expect(await beside("print(1)")).toEqual([]);
    });

    it("[MCP-07] comes so from run_sandbox_code too", async () => {
      await run("import os; os.makedirs('output', exist_ok=True)");
      const code = `open('output/checked.svg', 'w').write('${svg}')\nopen('output/checked.csv', 'w').write('a')`;
      const { content, isError = false } = await client.callTool({ name: "run_sandbox_code", arguments: { code } });
      expect(isError, JSON.stringify(content)).toBe(false);
      expect(content.slice(1)).toMatchObject([
        { type: "image" },
        { type: "resource_link", name: "output/checked.csv" },
      ]);
    });

    it("[MCP-07] is a link when it is too large or only named like an image, and is not without end", async () => {
      const { imageBytes, images, links } = toolLimits;
      const content = await beside(`
import base64, os
os.makedirs('output', exist_ok=True)
image = base64.b64decode('${png}')
open('output/false.png', 'w').write('no image')
open('output/large.png', 'wb').write(image + b'.' * ${imageBytes})
for i in range(${images + links + 5}): open(f'output/{i:03}.png', 'wb').write(image)
os.symlink('/etc/passwd', 'output/link.png')
`);
      const kinds = content.map(({ type }) => type);
      expect(kinds.filter((kind) => kind === "image")).toHaveLength(images);
      expect(kinds.filter((kind) => kind === "resource_link")).toHaveLength(links);
      expect(JSON.stringify(content)).not.toContain("link.png");
      const shown = content.flatMap((one) => (one.type === "image" ? [one.data] : []));
      expect(new Set(shown)).toEqual(new Set([png]));
      await run("import shutil; shutil.rmtree('output')");
    });

    it("[MCP-07] comes as an image when a session's code shows one", async () => {
      const code = `
class Chart:
    def _repr_png_(self):
        import base64
        return base64.b64decode('${png}')
Chart()`;
      const { content, structuredContent } = await run(code, { session_id: `shown-${era}` });
      expect(content.slice(1)).toMatchObject([{ type: "image", mimeType: "image/png", data: png }]);
      expect(JSON.stringify(structuredContent)).not.toContain(png);
    });
  });
});
