import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { Caisson } from "../../packages/sdk/src/index.ts";
import { engines, soak } from "../harness.ts";
import { findNoHeadlessShell } from "../web/headless-shell.ts";
import { browsingOn, site } from "./browsing.ts";
import { commandLine } from "./lanes.ts";

const noBrowser = findNoHeadlessShell();
const some = soak ? engines : engines.slice(0, 1);

describe.skipIf(noBrowser !== undefined).each(some)("ways of browser_fetch with %s", (engine) => {
  const at = browsingOn(engine);

  it("[WEB-03] gives text and HTML too, with what components hold, in parts", async () => {
    const text = await at.field.browse({ url: `${site}/parts`, format: "text" });
    expect(text.result.content).toBe("before\n\nin the light");
    const { result } = await at.field.browse({ url: `${site}/parts`, format: "html", max_chars: 200 });
    expect(result).toMatchObject({ truncated: true, offset: 0, next_offset: expect.any(Number) });
    const input = { url: `${site}/parts`, format: "html", offset: result.next_offset };
    const rest = await at.field.browse(input);
    expect(result.content + rest.result.content).toContain(
      "<x-part><b>in the shadow</b><slot><i>in the light</i></slot></x-part>",
    );
  });

  it.each([
    ["/moved", "other.example:80"],
    ["/leaves", "other.example:443"],
  ])("[WEB-03] is led to no other host by %s", async (path, place) => {
    const { isError, text } = await at.field.browse({ url: `${site}${path}`, timeout_seconds: 60 });
    expect(isError).toBe(true);
    expect(text).toContain(`${place} is not allowed`);
  });

  it("[WEB-03] shows a page without what other hosts would have to give, and names them", async () => {
    const { result } = await at.field.browse({ url: `${site}/elsewhere`, wait_for: ".none" });
    expect(result.content).toContain("no picture");
    expect(result.blocked).toMatchObject([{ host: "other.example", port: 80 }]);
  });

  it("[WEB-03] takes a page that looks like a refusal for a page", async () => {
    const { result } = await at.field.browse({ url: `${site}/alike` });
    expect(result).toMatchObject({ status: 403, url: `${site}/alike` });
  });

  it("[WEB-03] waits for a human where names are asked about, before it opens anything, once for the page", async () => {
    await at.field.allow([], { unknown: "ask" });
    const waiting = at.field.browse({ url: `${site}/made`, wait_for: "h1" });
    const question = await vi.waitFor(
      async () => {
        const { json } = await at.field.operator.get("/api/v1/approvals?state=pending&kind=egress");
        expect(json).toMatchObject([{ subject: "allowed.example:80", asked_by: expect.any(String) }]);
        return json[0].id as string;
      },
      { timeout: 60_000, interval: 20 },
    );
    await at.field.operator.post(`/api/v1/approvals/${question}/decide`, { approve: true, scope: "sandbox" });
    expect((await waiting).result).toMatchObject({ title: "Made by a script" });
    // It holds for the session, whatever becomes of the sandbox's files.
    expect((await at.field.browse({ url: `${site}/parts` })).result).toMatchObject({ title: "A page" });
    await at.field.allow(["allowed.example:80"]);
  });

  it("[WEB-03] trusts the sandbox's own authority where TLS is looked into, and no host that proves nothing", async () => {
    await at.field.allow([{ host: "allowed.example", port: 443, inspect: true }, "other.example:443"]);
    const { result } = await at.field.browse({ url: "https://allowed.example/made", wait_for: "h1" });
    expect(result).toMatchObject({ url: "https://allowed.example/made", title: "Made by a script" });
    const { isError, text } = await at.field.browse({ url: "https://other.example/made" });
    expect(isError).toBe(true);
    expect(text).toContain("ERR_CERT_AUTHORITY_INVALID");
    await at.field.allow(["allowed.example:80"]);
  });

  it("[WEB-03] has a sandbox of its own for each namespace, and each session", async () => {
    const other = await at.field.connect("other");
    const operator = await at.field.server.as("operator", "other");
    await operator.send("PUT", "/api/v1/egress/policy", { json: { allow: ["allowed.example:80"] } });
    const [own, named, theirs] = await Promise.all([
      at.field.browse({ url: `${site}/state` }),
      at.field.browse({ url: `${site}/state`, session_id: "named" }),
      at.field.browse({ url: `${site}/state`, session_id: "named" }, other),
    ]);
    const ids = [own, named, theirs].map(({ result }) => result.sandbox_id);
    expect(new Set(ids).size).toBe(3);
    expect(named.result.session_id).toBe("named-browser");
    const agent = await at.field.server.as("agent");
    expect((await agent.get(`/api/v1/sandboxes/${ids[2]}`)).status).toBe(404);
  });

  it("[WEB-03] gives the same by SDK and on the command line, which keeps the picture", async () => {
    const { token } = await at.field.server.keyring.issue({ name: "cli", namespace: "default", role: "agent" });
    const input = { url: `${site}/made`, wait_for: "li.late", session_id: "same" };
    const { result } = await at.field.browse(input);
    const sdk = await new Caisson({ url: at.field.server.base, key: token }).tools.call("browser_fetch", input);
    expect(sdk.result).toEqual(result);
    expect(sdk.content).toEqual([]);
    const file = join(at.folder, "page.png");
    const words = ["web", "browser", input.url, "--wait-for", "li.late", "--session", "same", "--json"];
    const call = (...more: string[]) =>
      commandLine(at.field.server.base, token, at.field.server.home, [...words, ...more]);
    expect(await call()).toEqual(result);
    const { screenshot } = (await call("--output", file)) as { screenshot: object };
    expect(screenshot).toEqual({
      mime_type: "image/png",
      width: 1280,
      height: 800,
      size_bytes: (await stat(file)).size,
    });
  });

  it("[WEB-03] uses a session of one's own that has a browser as it is, with its files, if it has room for one", async () => {
    const agent = await at.field.server.as("agent");
    const call = (tool: string, input: object) => agent.post(`/api/v1/tools/${tool}`, { session_id: "mine", ...input });
    await call("create_session", { language: "shell" });
    const { isError, text } = await at.field.browse({ url: `${site}/state`, session_id: "mine" });
    expect({ isError, text }).toEqual({
      isError: true,
      text: expect.stringContaining("a browser needs 128 processes"),
    });
    await call("set_resource_limits", { max_processes: 256, memory_mb: 1024 });
    await call("write_file", { path: "mine.txt", content: "mine" });
    const { result } = await at.field.browse({ url: `${site}/state`, session_id: "mine" });
    expect(result).toMatchObject({ session_id: "mine", content: expect.stringContaining("was: nothing") });
    expect((await call("read_file", { path: "mine.txt" })).json.result).toMatchObject({ content: "mine" });
  });

  it("[WEB-03] ends with its session", async () => {
    const { result } = await at.field.browse({ url: `${site}/made`, session_id: "short" });
    const agent = await at.field.server.as("agent");
    await agent.post("/api/v1/tools/create_session", { session_id: "short" });
    await agent.post("/api/v1/tools/terminate_session", { session_id: "short" });
    expect((await agent.get(`/api/v1/sandboxes/${result.sandbox_id}`)).status).toBe(404);
  });
});
