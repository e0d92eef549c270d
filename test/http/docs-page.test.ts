import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import { findNoBrowser, openBrowser } from "./chromium.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const noBrowser = findNoBrowser();

const plain = (html: string) => html.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));

describe("[API-01] the page of the API", () => {
  let server: TestServer;
  let page: string;
  /** What the page shows of each route, by its operation. */
  let sections: Map<string, string>;
  beforeAll(async () => {
    server = await openTestServer(engine);
    page = await (await fetch(`${server.base}/docs`)).text();
    const parts = page.split("</div></details>").map(plain);
    sections = new Map(parts.map((part) => [/ id="(\w+)" href/.exec(part)?.[1] ?? "", part]));
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const operations = () =>
    Object.entries(server.judge.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
    );

  const partOf = ({ operation }: ReturnType<typeof operations>[number]) =>
    sections.get((operation as unknown as { operationId: string }).operationId) ?? "";

  it("shows every parameter, field of a body and status", () => {
    const { schemas } = server.judge.document.components;
    const missing = operations().flatMap((one) => {
      const { parameters, requestBody, responses } = one.operation;
      const { $ref = "" } = (requestBody?.content["application/json"]?.schema ?? {}) as { $ref?: string };
      const { properties = {} } = (schemas[$ref.split("/").at(-1) ?? ""] ?? {}) as { properties?: object };
      const names = [
        ...parameters.map(({ name }) => name).filter((name) => !name.startsWith("X-Caisson-")),
        ...Object.keys(properties),
      ];
      const shown = [
        ...names.map((name) => `<td><code>${name}</code>`),
        ...Object.keys(responses).map((status) => `>${status}</`),
      ];
      return shown.filter((text) => !partOf(one).includes(text)).map((text) => `${one.method} ${one.path} ${text}`);
    });
    expect(missing).toEqual([]);
  });

  it("says of a field its type, default, limits and what it is for", () => {
    const exec = sections.get("postSandboxesIdExec") ?? "";
    expect(exec).toMatch(
      /<code>command<\/code><b>\*<\/b><\/td><td class="t">string \| string\[\]<\/td>\s*<td>a command line for the shell/,
    );
    expect(exec).toMatch(
      /<code>resource_limits.max_processes<\/code><\/td><td class="t">integer<\/td>\s*<td>.*1 to 512/,
    );
    expect(sections.get("postSandboxesIdProcessesProcessWait")).toMatch(
      /<code>timeout_seconds<\/code>.*\s.*default <code>30</,
    );
  });

  it("has an example of each route that the route takes", () => {
    const routes = server.routes.flatMap((route) => route.shownAs ?? [route]);
    const refused = operations().flatMap((one) => {
      const example = /link to this<\/a>\s*<pre>(.*?)<\/pre>/s.exec(partOf(one))?.[1] ?? "";
      const { body, bodyOptional } =
        routes.find(({ method, path }) => method === one.method && path === one.path) ?? {};
      const json = / -d '(.*)'/.exec(example)?.[1];
      if (json === "{}" && !one.path.startsWith("/api/v1/tools/")) return [`${one.method} ${one.path}: nothing`];
      const isTaken =
        json === undefined ? body === undefined || bodyOptional : body?.safeParse(JSON.parse(json)).success;
      return isTaken && /^(curl|websocat) /.test(example) ? [] : [`${one.method} ${one.path}: ${example}`];
    });
    expect(refused).toEqual([]);
  });

  it("has no script and no style of its own, and every link in it leads somewhere", () => {
    expect(page).not.toMatch(/<script|<style|\s(on\w+|style)=/);
    const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links.length).toBeGreaterThan(operations().length);
    expect(links.filter((id) => !ids.has(id))).toEqual([]);
  });

  it.skipIf(noBrowser !== undefined)(`unfolds the route that a link leads to${noBrowser ?? ""}`, async () => {
    const browser = await openBrowser();
    try {
      const shown = await browser.newPage();
      const isOpen = (id: string) => shown.evaluate(`document.getElementById("${id}").closest("details").open`);
      await shown.goto(`${server.base}/docs#postSandboxesIdExec`);
      expect([await isOpen("postSandboxesIdExec"), await isOpen("getEvents")]).toEqual([true, false]);
    } finally {
      await browser.close();
    }
  });
});
