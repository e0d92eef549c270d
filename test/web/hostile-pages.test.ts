import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { webLimits } from "../../packages/server/src/web/limits.ts";
import { Reader } from "../../packages/server/src/web/reader.ts";
import { soon } from "../egress/inspected.ts";
import { soak } from "../harness.ts";
import { html, site } from "./pages.ts";

const MiB = 1024 * 1024;
const size = soak ? webLimits.pageBytes.max : MiB / 4;

describe("a hostile page", () => {
  it("that is nested 10,000 deep is read", async () => {
    const deep = 10_000;
    await using web = await site(html(`${"<div>".repeat(deep)}<p>at the bottom</p>${"</div>".repeat(deep)}`));
    expect((await web.page("/")).text).toContain("at the bottom");
  });

  it.each([
    ["quotations", "<blockquote>x", ""],
    ["lists", "<ul><li>x", ""],
    ["tables", "<table><tr><td>x", ""],
    ["links and marks", "<a href=/x><b><i>", "y"],
    ["text that is packed into attributes", `<p class="${"x".repeat(50_000)}">`, "y"],
    ["tags that never close", "<p", ""],
    ["entities", "&amp;lt;&#0;&#x110000;&nosuch;", ""],
    ["closing tags", "</div></p></x>", "y"],
    ["the beginnings of tags", "<", ""],
    ["marks of Markdown", "_ * [ ] ` ", ""],
  ])("of nothing but %s is answered", async (_what, piece, end) => {
    const body = piece.repeat(Math.floor(size / piece.length)) + end;
    await using web = await site(html(body));
    const { text } = await web.page("/", { maxBytes: size, maxCharacters: 1_000 });
    expect(text.length).toBeLessThanOrEqual(1_000);
  });

  it("is read no further than asked for, and nothing of it is unpacked past that", async () => {
    const bomb = gzipSync(Buffer.alloc(32 * MiB, "<p>aaaaa</p>"));
    await using web = await site(html(bomb, { "content-encoding": "gzip" }));
    const page = await web.page("/", { maxBytes: 64 * 1024 });
    expect(page.isCut).toBe(true);
    expect(page.totalCharacters).toBeLessThan(64 * 1024);
  });

  it("that never ends is read no further either, and its connection is ended", async () => {
    await using web = await site((_request, response) => {
      response.setHeader("content-type", "text/plain");
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    });
    expect(await web.page("/", { maxBytes: MiB })).toMatchObject({ isCut: true, totalCharacters: MiB });
    await soon(() => expect(web.gate.open).toBe(0));
  });

  it.each([["gzip, gzip"], ["zstd"], ["constructor"]])("that is packed as %s is refused", async (encoding) => {
    await using web = await site(html("x", { "content-encoding": encoding }));
    await expect(web.page("/")).rejects.toMatchObject({ code: "unsupported" });
  });

  it("that is not packed as it says, or breaks off, is told as such", async () => {
    await using web = await site(({ url }, response) => {
      if (url === "/packed") html("plain", { "content-encoding": "gzip" })(undefined as never, response as never);
      else {
        response.writeHead(200, { "content-type": "text/html", "content-length": "1000" });
        response.write("<p>part", () => response.destroy());
      }
    });
    await expect(web.page("/packed")).rejects.toMatchObject({ code: "unavailable" });
    await expect(web.page("/broken")).rejects.toMatchObject({ code: "unavailable" });
  });

  it("costs its own thread alone: too much memory is an answer, and the next page is read", async () => {
    // As many elements as there may be, each with as much as it may carry.
    const piece = `<a class="${"é".repeat(webLimits.attributeCharacters)}" title="${"ü".repeat(webLimits.attributeCharacters)}" id="${"x".repeat(webLimits.attributeCharacters)}">x</a>`;
    const body = piece.repeat(Math.floor((webLimits.pageBytes.max * 0.9) / Buffer.byteLength(piece)));
    await using web = await site(({ url }, response) =>
      html(url === "/" ? body : "<p>fine</p>")(undefined as never, response as never),
    );
    const read = await web.page("/", { maxBytes: webLimits.pageBytes.max }).catch((error) => error);
    expect(read.code === undefined || read.code === "too_large").toBe(true);
    expect((await web.page("/next")).text).toBe("fine");
  });

  it("cannot make others wait for it without end: more than so many are refused", async () => {
    const reader = new Reader({ readers: 1, readersWaiting: 2, readersWaitingEach: 2 });
    const job = { kind: "page", html: "<p>x</p>", url: "http://allowed.example/", mayBeArticle: true } as const;
    const { signal } = new AbortController();
    const results = await Promise.allSettled([1, 2, 3, 4].map(() => reader.read(job, signal)));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled", "rejected"]);
    expect(results.at(-1)).toMatchObject({ reason: { code: "limit_exceeded" } });
    expect(await reader.read(job, signal)).toMatchObject({ markdown: "x" });
  });

  it("cannot make other namespaces wait for all of its kind", async () => {
    const reader = new Reader({ readers: 1, readersWaiting: 10, readersWaitingEach: 5 });
    const job = { kind: "page", html: "<p>x</p>", url: "http://allowed.example/", mayBeArticle: true } as const;
    const { signal } = new AbortController();
    const order: string[] = [];
    const read = (owner: string) =>
      reader
        .for(owner)
        .read(job, signal)
        .then(() => order.push(owner));
    const many = [1, 2, 3, 4, 5, 6].map(() => read("many"));
    await Promise.all([...many, read("one")]);
    expect(order.indexOf("one")).toBeLessThan(3);
    const refused = await Promise.allSettled([1, 2, 3, 4, 5, 6, 7].map(() => read("many")));
    expect(refused.filter(({ status }) => status === "rejected")).toHaveLength(1);
  });

  it("is given up with its caller", async () => {
    const reader = new Reader();
    const html = "<div><p>many, many, words</p></div>".repeat(100_000);
    const stop = new AbortController();
    const job = { kind: "page", html, url: "http://allowed.example/", mayBeArticle: true } as const;
    const read = reader.read(job, stop.signal);
    stop.abort();
    await expect(read).rejects.toMatchObject({ code: "timeout" });
  });
});
