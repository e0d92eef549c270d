import { describe, expect, it, vi } from "vitest";
import { engines, soak } from "../harness.ts";
import { findNoHeadlessShell } from "../web/headless-shell.ts";
import { browsingOn, site } from "./browsing.ts";

const noBrowser = findNoHeadlessShell();
const some = soak ? engines : engines.slice(0, 1);

describe.skipIf(noBrowser !== undefined).each(some)("hostile pages in %s", (engine) => {
  const at = browsingOn(engine);

  const open = (path: string, more = {}, signal?: AbortSignal) =>
    at.field.browse({ url: `${site}${path}`, ...more }, undefined, signal);

  it("[WEB-03] whose script never ends is shown as it was when its time was over", async () => {
    const { result } = await open("/endless", { timeout_seconds: 8, screenshot: true });
    expect(result).toMatchObject({ complete: false, title: "A page", screenshot: { width: 1280 } });
    expect(result.content).toContain("before");
  });

  it("[WEB-03] that never has all it wants is shown as it was when its time was over", async () => {
    const { result } = await open("/slow", { timeout_seconds: 8 });
    expect(result).toMatchObject({ complete: false, title: "A page" });
    expect(result.content).toContain("before");
  });

  it("[WEB-03] ends at once when nobody waits for it any more", async () => {
    const abort = new AbortController();
    const seen = () => at.field.host.requests.filter(({ url }) => url === "/endless").length;
    const before = seen();
    const waiting = open("/endless", { timeout_seconds: 120 }, abort.signal);
    const refused = expect(waiting).rejects.toThrow();
    await vi.waitFor(() => expect(seen()).toBe(before + 1), { timeout: 30_000, interval: 20 });
    abort.abort();
    await refused;
    // In its place: pages of a session come one after the other.
    expect((await open("/made", { wait_for: "h1" })).result).toMatchObject({ title: "Made by a script" });
  });

  it("[WEB-03] that loads itself again and again comes to an end", async () => {
    const { isError, result } = await open("/reloads", { timeout_seconds: 8 });
    expect({ isError, url: result.url }).toEqual({ isError: false, url: `${site}/reloads` });
  });

  it("[WEB-03] asks no questions, opens no windows and leaves no files", async () => {
    expect((await open("/dialogs")).result.content).toContain("after dialogs");
    expect((await open("/popups")).result.content).toContain("after popups");
    expect(at.field.host.requests.filter(({ url }) => url.includes("?window"))).toEqual([]);
    const { isError, text } = await open("/file");
    expect({ isError, text }).toEqual({ isError: true, text: expect.stringContaining("not a page") });
  });

  it("[WEB-03] forges neither what is waited for nor what is read", async () => {
    const { isError, text } = await open("/forges", { wait_for: ".never", timeout_seconds: 8 });
    expect(isError).toBe(true);
    const { error, message, details } = JSON.parse(text);
    expect({ error, details }).toMatchObject({ error: "timeout", details: { title: "A page", status: 200 } });
    expect(message).toContain(".never");
  });

  it("refuses a selector that is none", async () => {
    const { isError, text } = await open("/made", { wait_for: "li[" });
    expect(isError).toBe(true);
    expect(JSON.parse(text)).toMatchObject({ error: "invalid", message: expect.stringContaining("li[") });
  });

  it("[WEB-03] without end is read up to a limit", async () => {
    expect((await open("/wide", { format: "html" })).result).toMatchObject({ cut: true });
    const { result } = await open("/long", { format: "text" });
    expect(result).toMatchObject({ cut: true, total_chars: 4_000_000, truncated: true });
    expect((await open("/deep")).result.content).toContain("at the bottom");
  });

  it("[WEB-03] whose picture would be too large gives a smaller one", async () => {
    const { result, images } = await open("/noise", { screenshot: true, full_page: true });
    expect(result.screenshot.size_bytes).toBeLessThanOrEqual(2 * 1024 ** 2);
    expect(result.screenshot.width).toBeLessThan(1_280);
    expect(images).toHaveLength(1);
  });

  it("[WEB-03] that takes all memory ends its own browser, and the next page is shown", async () => {
    const { isError, text } = await open("/memory", { timeout_seconds: 20 });
    if (isError) expect(["too_large", "unavailable", "timeout"]).toContain(JSON.parse(text).error);
    expect((await open("/made", { wait_for: "h1" })).result).toMatchObject({ title: "Made by a script" });
  });
});
