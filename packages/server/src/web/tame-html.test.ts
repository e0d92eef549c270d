import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DomElement } from "./dom.ts";
import { webLimits } from "./limits.ts";
import { tameHtml } from "./tame-html.ts";

const shown = (element: DomElement) => (element as unknown as { innerHTML: string }).innerHTML;
const body = (html: string) => shown(tameHtml(html).document.body);

describe("HTML, tamed", () => {
  it("keeps what is for reading", () => {
    expect(body('<body><p class="x" onclick="evil()">a &amp; b<br>c')).toBe('<p class="x">a &amp; b<br>c</p>');
    const { document } = tameHtml("<html lang=de><p>x<title>T</title>");
    expect([shown(document.head), shown(document.body)]).toEqual(["<title>T</title>", "<p>x</p>"]);
    expect(document.documentElement.getAttribute("lang")).toBe("de");
  });

  it("has one text where what stood in its midst belongs to the head", () => {
    const { document } = tameHtml("<p>a<title>T</title>b<meta name=x>c");
    const texts = [...(document.querySelector("p")?.childNodes ?? [])].map(({ textContent }) => textContent);
    expect([...texts, shown(document.head)]).toEqual(["abc", '<title>T</title><meta name="x">']);
  });

  it("leaves out what is not, whatever is in it", () => {
    expect(body("a<script>if (1<2) '</p>'</script><svg><title>x</title><p>y</p></svg><!-- c -->b")).toBe("ab");
  });

  it("keeps the text of what is nested too deep, and no more tags than there may be", () => {
    const { document } = tameHtml(`${"<div>".repeat(10_000)}deep${"</div>".repeat(10_000)}<p>after</p>`);
    expect([...document.querySelectorAll("div")].length).toBe(webLimits.depth);
    expect(document.body.textContent).toBe("deepafter");
  });

  it("stops at so many elements, and drops attributes that are too long", () => {
    const many = tameHtml("<b>x</b>".repeat(webLimits.elements * 1.5));
    expect(many.isCut).toBe(true);
    expect([...many.document.querySelectorAll("b")].length).toBeLessThan(webLimits.elements + 10_000);
    expect(body(`<a class="${"x".repeat(100_000)}" href="/y">z</a>`)).toBe('<a href="/y">z</a>');
  });

  it("is a tree of at most that depth with one text after another, whatever it was", () => {
    // biome-ignore format: a list of words
    const piece = fc.constantFrom(
      "<p>", "</p>", "<b", "<i>", "</i>", "x", "&lt;", "<br>", "<table>", "<td>", "<a href=", '"', ">", "<title>", "</title>", "<svg>",
      "<li>", "</ul>", "<html>", "</body>", "<head>", "<x:y>", "<!--", "-->",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const { document } = tameHtml(pieces.join(""));
        for (const element of document.querySelectorAll("*")) {
          const types = [...element.childNodes].map(({ nodeType }) => nodeType);
          if (!types.every((type, at) => type === 1 || (type === 3 && types[at - 1] !== 3))) return false;
        }
        return true;
      }),
    );
  });
});
