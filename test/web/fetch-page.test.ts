import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { webLimits } from "../../packages/server/src/web/limits.ts";
import { html, site } from "./pages.ts";

const words = (count: number) => `${"Some words that make a sentence. ".repeat(count).trim()}`;

const article = `<!doctype html><html lang="en"><head><title>Ships | The Paper</title>
  <meta name="author" content="A. Sailor"><meta property="og:site_name" content="The Paper">
  <meta property="article:published_time" content="2026-01-02T03:04:05Z"></head>
  <body><nav><a href="/home">Home</a><a href="/more">More</a></nav>
  <article><h1>Ships</h1><p>${words(8)}</p><h2>Sails</h2><p>${words(6)} See <a href="/rope">ropes</a>.</p>
  <table><tr><th>Mast</th><th>Sails</th></tr><tr><td>main</td><td>3</td></tr></table>
  <pre><code class="language-python">hoist(3)</code></pre></article>
  <aside>${words(2)}</aside><footer>Imprint</footer><script>evil()</script></body></html>`;

describe("a page", () => {
  it("[WEB-02] comes as its main text in Markdown, with what is known about it", async () => {
    await using web = await site(html(article));
    const page = await web.page("/a");
    expect(page).toMatchObject({
      url: "http://allowed.example/a",
      status: 200,
      kind: "html",
      byline: "A. Sailor",
      siteName: "The Paper",
      publishedAt: "2026-01-02T03:04:05Z",
      language: "en",
      isArticle: true,
      nextOffset: null,
      isCut: false,
      links: [{ text: "ropes", url: "http://allowed.example/rope" }],
    });
    expect(page.title).toContain("Ships");
    expect(page.text).toContain("## Sails\n\nSome words");
    expect(page.text).toContain("[ropes](http://allowed.example/rope)");
    expect(page.text).toContain("| Mast | Sails |\n| --- | --- |\n| main | 3 |");
    expect(page.text).toContain("```python\nhoist(3)\n```");
    for (const absent of ["Home", "Imprint", "evil", "<"]) expect(page.text).not.toContain(absent);
  });

  it("[WEB-02] cannot be had of a host that is not allowed, by itself or by a redirect: the refusal says how to ask", async () => {
    await using web = await site((_request, response) =>
      response.writeHead(302, { location: "http://other.example/x" }).end(),
    );
    const refusal = {
      code: "forbidden",
      hint: expect.stringContaining("request_egress"),
      details: { refused: "egress", what: "other.example:80", rule: null },
    };
    await expect(web.page("http://other.example/x")).rejects.toMatchObject(refusal);
    expect(web.host.connections()).toBe(0);
    await expect(web.page("/a")).rejects.toMatchObject(refusal);
    expect(web.host.connections()).toBe(1);
    expect(web.attempts.map(({ host, verdict }) => `${host} ${verdict}`)).toEqual([
      "other.example denied",
      "allowed.example allowed",
      "other.example denied",
    ]);
  });

  it("is found after redirects, each of which is judged, and after so many not at all", async () => {
    await using web = await site(({ url = "", headers }, response) => {
      if (url === "/start")
        response.writeHead(301, { location: "http://www.allowed.example/next" }).end("x".repeat(9_999));
      else if (url === "/next") response.writeHead(307, { location: "./end#part" }).end();
      else if (url === "/end") response.end(`<p>${headers.host}</p>`);
      else response.writeHead(302, { location: "/round" }).end();
    });
    expect(await web.page("/start")).toMatchObject({
      url: "http://www.allowed.example/end",
      redirects: ["http://allowed.example/start", "http://www.allowed.example/next"],
    });
    const before = web.host.requests.length;
    await expect(web.page("/round")).rejects.toMatchObject({ code: "unavailable" });
    expect(web.host.requests.length - before).toBe(webLimits.redirects + 1);
  });

  it.each([
    ["file:///etc/passwd"],
    ["http://user:word@allowed.example/"],
    ["javascript:1"],
    ["http://"],
    [`http://allowed.example/${"x".repeat(3_000)}`],
  ])("is not at %.40s, nor after a redirect to it", async (url) => {
    await using web = await site((_request, response) => response.writeHead(302, { location: url }).end());
    await expect(web.page(url)).rejects.toMatchObject({ code: "invalid" });
    await expect(web.page("/a")).rejects.toMatchObject({ code: "invalid" });
  });

  it("is read in parts, which make up the whole", async () => {
    await using web = await site(html(`<p>${words(3)}</p>`.repeat(40)));
    const whole = (await web.page("/")).text;
    let text = "";
    for (let offset: number | null = 0; offset !== null; ) {
      const part = await web.page("/", { offset, maxCharacters: 1_000 });
      expect(part.totalCharacters).toBe(whole.length);
      text += part.text;
      offset = part.nextOffset;
    }
    expect(text).toBe(whole);
  });

  it.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
  ] as const)("comes packed by %s", async (encoding, pack) => {
    await using web = await site(html(pack("<p>unpacked</p>"), { "content-encoding": encoding }));
    expect((await web.page("/")).text).toBe("unpacked");
  });

  it("is read in the character set that its server or itself names", async () => {
    const bytes = Buffer.from("<p>\xe4\xe0</p>", "latin1");
    await using said = await site(html(bytes, { "content-type": "text/html; charset=windows-1251" }));
    expect((await said.page("/")).text).toBe("да");
    const meta = Buffer.concat([Buffer.from("<meta charset=windows-1251>"), bytes]);
    await using inside = await site(html(meta, { "content-type": "text/html" }));
    expect((await inside.page("/")).text).toBe("да");
  });

  it.each([
    ["application/json", '{"a": [1, 2]}', "json"],
    ["application/rss+xml", "<rss><title>a</title></rss>", "xml"],
    ["text/plain", "a <b> *c*", "text"],
    ["", "just text", "text"],
  ])("of the type %j stays as it is", async (type, text, kind) => {
    await using web = await site((_request, response) => {
      if (type !== "") response.setHeader("content-type", type);
      response.end(text);
    });
    expect(await web.page("/")).toMatchObject({ kind, text, title: null, links: [] });
  });

  it.each([["application/pdf"], ["image/png"], ["application/octet-stream"]])(
    "is nothing of the type %s, and the refusal says what to do",
    async (type) => {
      await using web = await site(html("x", { "content-type": type }));
      await expect(web.page("/")).rejects.toMatchObject({
        code: "unsupported",
        message: expect.stringContaining(type),
        hint: expect.stringContaining("in the sandbox"),
      });
    },
  );

  it("that is an error is told with its status", async () => {
    await using web = await site((_request, response) =>
      response.writeHead(404, { "content-type": "text/html" }).end("<h1>Not here</h1>"),
    );
    expect(await web.page("/")).toMatchObject({ status: 404, text: "# Not here" });
  });

  it("that is no article is all that it has beside its menus", async () => {
    await using web = await site(html('<nav>menu</nav><p>short</p><a href="/x">y</a>'));
    expect(await web.page("/")).toMatchObject({ isArticle: false, text: "short\n\n[y](http://allowed.example/x)" });
  });
});
