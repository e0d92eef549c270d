import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Api } from "./api.ts";
import { findNoBrowser, openBrowser } from "./chromium.ts";
import { openTestServer, type TestServer } from "./server.ts";

const noBrowser = findNoBrowser();

/** What a browser makes of the answers is looked at on one engine; they are the same on both (ports.test.ts). */
describe.skipIf(noBrowser !== undefined)(`a page that a sandbox serves${noBrowser ? `: ${noBrowser}` : ""}`, () => {
  let server: TestServer;
  let admin: Api;
  let at: string;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let link: string;
  beforeAll(async () => {
    [server, browser] = await Promise.all([openTestServer("container"), openBrowser()]);
    server.browsers.server.listen(0, "127.0.0.1");
    await once(server.browsers.server, "listening");
    admin = await server.as("admin");
    const id = await admin.create();
    at = `/api/v1/sandboxes/${id}`;
    await admin.put(`${at}/files/app.py`, await readFile(join(import.meta.dirname, "port-app.py")));
    const { json } = await admin.post(`${at}/processes`, { command: ["python3", "app.py"] });
    const output = () => admin.get(`${at}/processes/${json.id}/output`);
    await vi.waitFor(async () => expect((await output()).json.next_offset).toBeGreaterThan(0), { timeout: 30_000 });
    await admin.send("PUT", `${at}/ports/8000`, { json: { visibility: "token" } });
    link = (await admin.post(`${at}/port-links`, { port: 8000 })).json.url;
    context = await browser.newContext();
    context.setDefaultTimeout(30_000);
    page = await context.newPage();
    // As a signed-in person's browser: something of theirs lies at the API's origin, under both of its names.
    for (const name of ["127.0.0.1", "localhost"]) {
      const { port } = new URL(server.base);
      await page.goto(`http://${name}:${port}/docs`);
      await page.evaluate('localStorage.setItem("key", "mine"); document.cookie = "person=me; path=/"');
    }
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await server[Symbol.asyncDispose]();
  });

  it("[NET-14] runs on an origin of its own, after the link", async () => {
    await page.goto(link.replace("/?", "/hostile?"));
    expect(await page.title()).toBe("ran");
    expect(page.url()).toMatch(/^http:\/\/8000-[a-z0-9-]+\.localhost:\d+\/hostile$/);
    const port = (server.browsers.server.address() as AddressInfo).port;
    expect(new URL(page.url()).port).toBe(String(port));
  });

  it("[NET-14] does not see what a person has at the API's, and cannot leave anything there", async () => {
    await page.goto(link.replace("/?", "/hostile?"));
    expect(await page.evaluate(() => localStorage.getItem("key"))).toBeNull();
    expect(await page.evaluate("document.cookie")).not.toMatch(/person|caisson_port/);
    const { port } = new URL(server.base);
    await page.goto(`http://localhost:${port}/docs`);
    expect(await page.evaluate("document.cookie")).not.toContain("stolen");
  });

  it("[NET-14] cannot act as the signed-in person", async () => {
    await page.goto(link.replace("/?", "/hostile?"));
    const { port } = new URL(server.base);
    const tries = ["127.0.0.1", "localhost"].map((name) => `http://${name}:${port}/api/v1/sandboxes`);
    const key = admin.headers["x-api-key"] ?? "";
    const outcomes = await page.evaluate(
      ({ tries, key }) =>
        Promise.all(
          tries.map((url) =>
            fetch(url, { method: "POST", credentials: "include", headers: { "x-api-key": key }, body: "{}" }).then(
              ({ status }) => String(status),
              () => "refused",
            ),
          ),
        ),
      { tries, key },
    );
    expect(outcomes).toEqual(["refused", "refused"]);
    expect((await admin.get("/api/v1/sandboxes")).json.length).toBe(1);
  });

  it("[NET-14] does not run at the API's origin, though a browser is led there with the key at hand", async () => {
    await page.setExtraHTTPHeaders(admin.headers);
    await page.goto(`${server.base}${at}/ports/8000/hostile`);
    expect(await page.title()).not.toBe("ran");
    await page.setExtraHTTPHeaders({});
  });
});
