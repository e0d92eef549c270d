import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../harness.ts";
import { findNoBrowser, openBrowser } from "../http/chromium.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const noBrowser = findNoBrowser();

async function bundleSdk(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(root, "packages/sdk/src/index.ts")],
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
  });
  return outputFiles[0]?.text ?? "";
}

it("[API-05] the SDK needs no package, and nothing that a browser lacks", async () => {
  const manifest = JSON.parse(await readFile(join(root, "packages/sdk/package.json"), "utf8"));
  expect(manifest).not.toHaveProperty("dependencies");
  const code = await bundleSdk();
  expect(code).toMatch(/\bCaisson\b.*class/);
  expect(code.match(/\b(node:\w+|require\(|process\.|Buffer\b|setImmediate)/g)).toBeNull();
});

describe.skipIf(noBrowser !== undefined)(`the SDK in a browser${noBrowser ? `: ${noBrowser}` : ""}`, () => {
  let pages: Server;
  let origin: string;
  let server: TestServer;
  let browser: Browser;
  let key: string;
  beforeAll(async () => {
    const code = await bundleSdk();
    pages = createServer(({ url }, response) => {
      const [type, text] = url === "/sdk.js" ? ["text/javascript", code] : ["text/html", "<title>a page</title>"];
      response.writeHead(200, { "content-type": type }).end(text);
    }).listen(0, "127.0.0.1");
    await once(pages, "listening");
    origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    [server, browser] = await Promise.all([openTestServer("container", { origins: [origin] }), openBrowser()]);
    key = (await server.keyring.issue({ name: "page", namespace: "default", role: "agent" })).token;
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    pages?.closeAllConnections();
    pages?.close();
  });

  /** In a page of that origin: a sandbox, a run whose output comes as it is made, files, and an end. */
  const script = (url: string) => `(async () => {
    const { ApiError, Caisson } = await import("/sdk.js");
    const caisson = new Caisson({ url: ${JSON.stringify(url)}, key: ${JSON.stringify(key)} });
    const sandbox = await caisson.createSandbox({ memory_mb: 128 });
    const said = [];
    for await (const message of sandbox.execStream("mkfifo /tmp/more; echo one; read line </tmp/more; echo $line; exit 3")) {
      said.push(message.type === "result" ? message.exit_code : message.data);
      if (said.length > 1) continue;
      // The first line is here before there is a second one.
      await sandbox.exec("echo two >/tmp/more");
    }
    await sandbox.files.write("a.txt", "text");
    const text = await sandbox.files.readText("a.txt");
    await sandbox.destroy();
    const gone = await caisson.getSandbox(sandbox.id).catch((error) => error instanceof ApiError && error.code);
    return { said, text, gone };
  })()`;

  const inPage = async (from: string, code: string): Promise<unknown> => {
    const page = await browser.newPage();
    await page.goto(from);
    try {
      return await page.evaluate(code);
    } finally {
      await page.close();
    }
  };

  it("[API-05] makes a sandbox, streams a run and destroys it, from a page of an origin that is allowed", async () => {
    expect(await inPage(`${origin}/`, script(server.base))).toEqual({
      said: ["one\n", "two\n", 3],
      text: "text",
      gone: "not_found",
    });
  });

  it("reaches nothing from a page of another origin", async () => {
    const other = origin.replace("127.0.0.1", "localhost");
    await expect(inPage(`${other}/`, script(server.base))).rejects.toThrow(/cannot reach/);
  });
});
