import { describe, expect, it } from "vitest";
import { browserLimits } from "./limits.ts";
import { readAnswer } from "./read-answer.ts";

const head = { url: "http://a.example/", title: "A", status: 200, type: "text/html", complete: true, cut: false };
const answer = (first: unknown, picture = "", content = "") => `${JSON.stringify(first)}\n${picture}\n${content}`;

function png(width: number, height: number, bytes = 24): string {
  const made = Buffer.alloc(bytes);
  made.write("\x89PNG\r\n\x1a\n", "latin1");
  made.writeUInt32BE(width, 16);
  made.writeUInt32BE(height, 20);
  return made.toString("base64");
}

describe("what a browser answers", () => {
  it("is a page with its picture and content, whatever lines that has", () => {
    const found = readAnswer(answer(head, png(1280, 800), "<p>one\n\ntwo\n"));
    expect(found).toMatchObject({
      ...head,
      missing: false,
      picture: { width: 1280, height: 800 },
      content: "<p>one\n\ntwo\n",
    });
  });

  it("is why there is none", () => {
    const failed = { error: "unreached", message: "net::ERR", url: "http://a.example/" };
    expect(readAnswer(answer(failed))).toEqual(failed);
  });

  it.each([
    ["nothing", ""],
    ["no line", "{}"],
    ["no JSON", "x\n\n"],
    ["a list", answer([])],
    ["a line without end", `${"x".repeat(browserLimits.headCharacters + 1)}\n\n`],
    ["fields that are missing", answer({ url: head.url })],
    ["a URL that is none", answer({ ...head, url: "nowhere" })],
    ["a URL without end", answer({ ...head, url: `http://a/${"x".repeat(browserLimits.urlCharacters)}` })],
    ["a failure that nobody knows", answer({ error: "forbidden", message: "", url: head.url })],
    ["a picture that is none", answer(head, Buffer.from("<svg>").toString("base64"))],
    ["a picture wider than the window", answer(head, png(browserLimits.width + 1, 1))],
    ["a picture higher than any", answer(head, png(1, browserLimits.wholeHeight + 1))],
    ["a picture of too many bytes", answer(head, png(1, 1, browserLimits.pictureBytes + 1))],
  ])("is refused when it is %s", (_, output) => {
    expect(() => readAnswer(output)).toThrow("invalid response from the browser");
  });
});
