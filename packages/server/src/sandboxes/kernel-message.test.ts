import { describe, expect, it } from "vitest";
import { contextLimits } from "../core/limits.ts";
import { parseKernelMessage } from "./kernel-message.ts";

const parse = (value: unknown) =>
  parseKernelMessage(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)));
const png = "iVBORw0KGgoAAAA=";

describe("a kernel's message", () => {
  it("keeps what is known of a result", () => {
    const sent = { type: "result", kind: "value", text: "t", json: "[1]", html: "<b>", png, svg: "<svg/>", extra: 1 };
    expect(parse(sent)).toEqual({
      type: "result",
      chars: 1 + 3 + 3 + png.length + 6,
      result: { kind: "value", text: "t", json: [1], html: "<b>", png, svg: "<svg/>", truncated: false },
    });
  });

  it.each([
    ["json that is none", { json: "{" }],
    ["json too deep to walk", { json: `${"[".repeat(1000)}${"]".repeat(1000)}` }],
    [
      "[S84] json with more names than anybody reads",
      { json: `{${Array.from({ length: 60_001 }, (_, n) => `"${n}":1`)}}` },
    ],
    ["a picture that is none", { png: "AAAA" }],
    ["a picture with more than base64", { png: `${png}<script>` }],
    ["html past its limit", { html: "x".repeat(contextLimits.richChars + 1) }],
  ])("leaves out %s, and says so", (_what, part) => {
    expect(parse({ type: "result", text: "t", ...part })).toEqual({
      type: "result",
      chars: 1,
      result: { kind: "display", text: "t", truncated: true },
    });
  });

  it("cuts texts to their limits", () => {
    const text = "x".repeat(2_000_000);
    expect(parse({ type: "result", text })).toMatchObject({ result: { text: text.slice(0, contextLimits.textChars) } });
    const message = parse({ type: "end", id: 1, error: { name: text, message: text, traceback: text } });
    expect(JSON.stringify(message).length).toBeLessThan(2 * contextLimits.traceChars + 1000);
  });

  it("takes nothing from a prototype", () => {
    const message = parse(
      '{"type":"result","text":"t","json":"{\\"__proto__\\":{\\"polluted\\":1}}","__proto__":{"html":"<b>"}}',
    );
    expect(message).not.toHaveProperty("result.html");
    expect({}).not.toHaveProperty("polluted");
  });

  it.each([
    ["{", "no JSON"],
    ["[]", "no object"],
    ["null", "no object"],
    [{ type: "toString" }, "no known type"],
    [{ type: "result", text: 5 }, "a text that is none"],
    [{ type: "result", text: "", svg: [] }, "a text that is none"],
    [{ type: "end", id: "1" }, "an end of no run"],
    [{ type: "end", id: 1.5 }, "an end of no run"],
    [{ type: "end", id: 1, error: [] }, "an error that is none"],
    [{ type: "end", id: 1, error: { name: "n" } }, "a text that is none"],
  ])("refuses %j", (sent, reason) => {
    expect(() => parse(sent)).toThrow(reason);
  });

  it("[S84] is refused with more names than anybody reads, before a parser sees them", () => {
    const names = Array.from({ length: 60_001 }, (_, n) => `"${n}":1`);
    expect(() => parse(`{"type":"ready",${names}}`)).toThrow("no JSON");
  });
});
