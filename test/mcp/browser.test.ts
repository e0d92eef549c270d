import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import { findNoHeadlessShell } from "../web/headless-shell.ts";
import { browsingOn, site } from "./browsing.ts";

const noBrowser = findNoHeadlessShell();

/** Its size, and its first pixel, which no filter of a row changes. */
function readPng(base64: string) {
  const png = Buffer.from(base64, "base64");
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12)
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const pixels = inflateSync(Buffer.concat(data));
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20), first: [...pixels.subarray(1, 4)] };
}

describe.skipIf(noBrowser !== undefined).each(engines)("browser_fetch with %s", (engine) => {
  const at = browsingOn(engine);

  it("[WEB-03] shows a page that is made by JavaScript alone, once an element of it is there", async () => {
    const { result, images } = await at.field.browse({ url: `${site}/made`, wait_for: "li.late" });
    expect(result).toMatchObject({
      ...{ url: `${site}/made`, status: 200, title: "Made by a script", complete: true, cut: false, blocked: [] },
      screenshot: null,
    });
    expect(result.content).toContain("# Hello from data");
    expect(result.content).toContain("- late");
    expect(result.content).not.toContain("hidden words");
    expect(images).toEqual([]);
  });

  it("[WEB-03] asks for the page and what it needs, and for nothing on its own behalf", async () => {
    const { json } = await at.field.operator.get("/api/v1/egress/log");
    expect(new Set(json.map(({ host }: { host: string }) => host))).toEqual(new Set(["allowed.example"]));
    expect(new Set(at.field.host.requests.map(({ url }) => url))).toEqual(new Set(["/made", "/data.json"]));
  });

  it("[WEB-03] takes a picture of the window, and one of the whole page", async () => {
    const window = await at.field.browse({ url: `${site}/red`, screenshot: true });
    expect(window.images).toHaveLength(1);
    const [{ mimeType, data } = { mimeType: "", data: "" }] = window.images;
    expect(mimeType).toBe("image/png");
    expect(readPng(data)).toEqual({ width: 1280, height: 800, first: [200, 10, 20] });
    const { length } = Buffer.from(data, "base64");
    expect(window.result.screenshot).toEqual({ mime_type: "image/png", width: 1280, height: 800, size_bytes: length });
    const whole = await at.field.browse({ url: `${site}/red`, screenshot: true, full_page: true });
    expect(readPng(whole.images[0]?.data ?? "")).toMatchObject({ width: 1280, first: [200, 10, 20] });
    expect(whole.result.screenshot.height).toBeGreaterThanOrEqual(3000);
  });

  it("[WEB-03] reaches no host that is not allowed, and says which, and how to ask", async () => {
    const before = [at.field.host.connections(), at.field.secureHost.connections()];
    for (const url of ["http://other.example/", "https://other.example/"]) {
      const { isError, text } = await at.field.browse({ url });
      expect(isError).toBe(true);
      const { error, message, hint, details } = JSON.parse(text);
      const port = url.startsWith("https") ? 443 : 80;
      expect({ error, details }).toMatchObject({ error: "forbidden", details: { host: "other.example", port } });
      expect(message).toContain(`other.example:${port} is not allowed`);
      expect(hint).toContain(`request_egress and session_id "${details.session_id}"`);
    }
    expect([at.field.host.connections(), at.field.secureHost.connections()]).toEqual(before);
  });

  it("[WEB-03] begins each page with nothing of the one before, also of one that broke out of the browser", async () => {
    const first = await at.field.browse({ url: `${site}/state` });
    expect(first.result.content).toContain("was: nothing");
    const { sandbox_id: id } = first.result;
    const agent = await at.field.server.as("agent");
    const left = "mkdir -p ~/.config; touch /workspace/left ~/.config/left /tmp/left; (sleep 1000 & )";
    expect((await agent.post(`/api/v1/sandboxes/${id}/exec`, { command: left })).json).toMatchObject({ exit_code: 0 });
    const second = await at.field.browse({ url: `${site}/state` });
    expect(second.result).toMatchObject({ sandbox_id: id, content: expect.stringContaining("was: nothing") });
    const { json } = await agent.post(`/api/v1/sandboxes/${id}/exec`, { command: "ls -A /workspace ~ /tmp" });
    expect(json.stdout).not.toContain("left");
  });
});
