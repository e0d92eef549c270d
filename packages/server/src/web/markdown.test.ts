import { describe, expect, it } from "vitest";
import { webLimits } from "./limits.ts";
import { MarkdownWriter } from "./markdown.ts";
import { tameHtml } from "./tame-html.ts";

const markdown = (html: string) => new MarkdownWriter("https://example.com/a/b").write(tameHtml(html).document.body);

describe("Markdown of HTML", () => {
  it.each([
    ["headings and paragraphs", "<h2>One <b>two</b></h2><p>Three\n  four</p>", "## One **two**\n\nThree four"],
    ["text without a paragraph", "one<div>two</div>three", "one\n\ntwo\n\nthree"],
    ["links, made absolute", '<p><a href="../c?d=(e)">f</a></p>', "[f](https://example.com/c?d=%28e%29)"],
    ["no links that lead nowhere", '<a href="javascript:x()">a</a> <a href="#x">b</a> <a>c</a>', "a b c"],
    ["a link around blocks as what it is around", '<a href="/x"><div>one</div><p>two</p></a>', "one\n\ntwo"],
    ["images with words", '<img src="/i.png" alt="a cat"><img src="/j.png">', "![a cat](https://example.com/i.png)"],
    ["images in the page itself as words", '<img src="data:image/png;base64,AA" alt="dot">', "dot"],
    ["lists", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>", "- a\n- b\n  - c"],
    ["numbered lists", '<ol start="3"><li>a</li><li><p>b</p><p>c</p></li></ol>', "3. a\n4. b\n\n   c"],
    ["quotations", "<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"],
    ["code as it stands", '<pre><code class="language-js">a  *b*\n&lt;c&gt;</code></pre>', "```js\na  *b*\n<c>\n```"],
    ["code with ticks in it", "<p><code>a`b</code></p><pre>```</pre>", "`` a`b ``\n\n````\n```\n````"],
    ["line breaks", "<p>a<br>b<br/><br>c</p>", "a  \nb  \nc"],
    ["rules", "a<hr>b", "a\n\n---\n\nb"],
    ["terms", "<dl><dt>a</dt><dd>b</dd></dl>", "**a**\n\nb"],
    ["marks that touch their words", "<p>a<b> b </b>c <i></i>d</p>", "a **b** c d"],
    ["text that looks like marks", "<p># a * b_c _d_ [e] &lt;f&gt; `</p>", "\\# a \\* b_c \\_d\\_ \\[e\\] \\<f> \\`"],
    ["lines that look like lists", "<p>1. a<br>- b<br>+ c</p>", "1\\. a  \n\\- b  \n\\+ c"],
    [
      "tables",
      "<table><caption>T</caption><tr><th>a</th><th>b</th></tr><tr><td>1|2</td></tr></table>",
      "T\n\n| a | b |\n| --- | --- |\n| 1\\|2 |  |",
    ],
    ["tables that lay a page out as what is in them", "<table><tr><td><p>a</p></td><td>b</td></tr></table>", "a\n\nb"],
    [
      "nothing of scripts, styles and forms' fields",
      "a<script>b</script><style>c</style><textarea>d</textarea>e",
      "ae",
    ],
  ])("has %s", (_what, html, expected) => {
    expect(markdown(html)).toBe(expected);
  });

  it("shows so many levels, and the text of all others", () => {
    const deep = 60;
    const text = markdown(`${"<blockquote>".repeat(deep)}end${"</blockquote>".repeat(deep)}`);
    expect(text).toBe(`${"> ".repeat(webLimits.indents)}end`);
  });
});
