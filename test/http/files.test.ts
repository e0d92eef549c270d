import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describe.each(engines)("files over REST (%s)", (engine) => {
  let server: TestServer;
  let api: Api;
  let at: string;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
    at = `/api/v1/sandboxes/${await api.create()}`;
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[FIL-01] are put as raw bytes with 204 and no body, and come back byte by byte", async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, n) => (n * 7) % 256));
    const put = await api.put(`${at}/files/data.csv`, bytes, {
      headers: { "content-type": "application/octet-stream" },
    });
    expect([put.status, put.bytes.length]).toEqual([204, 0]);
    const got = await api.get(`${at}/files/data.csv`);
    expect(got.status).toBe(200);
    expect(got.bytes.equals(bytes)).toBe(true);
    expect(got.headers.get("content-length")).toBe("300000");
    const rows = await server.store.audit.search({ type: "file.written", limit: 10 });
    expect(rows.at(-1)?.detail).toEqual({ path: "data.csv", size_bytes: 300_000, sha256: sha256(bytes) });
  });

  it("[FIL-01] give ranges", async () => {
    await api.put(`${at}/files/ten`, "0123456789");
    const range = async (value: string) => {
      const { status, bytes, headers } = await api.get(`${at}/files/ten`, { headers: { range: value } });
      return [status, bytes.toString(), headers.get("content-range")];
    };
    expect(await range("bytes=2-4")).toEqual([206, "234", "bytes 2-4/10"]);
    expect(await range("bytes=-3")).toEqual([206, "789", "bytes 7-9/10"]);
    expect(await range("bytes=8-")).toEqual([206, "89", "bytes 8-9/10"]);
    expect((await range("bytes=10-"))[0]).toBe(416);
    expect((await range("bytes=10-"))[2]).toBe("bytes */10");
    expect((await range("bytes=0-1,4-5")).slice(0, 2)).toEqual([200, "0123456789"]);
  });

  it("[FIL-01] are listed as the seed says, shown, moved, and deleted; folders are made", async () => {
    await api.put(`${at}/files/outputs/chart.png`, "45678");
    await api.put(`${at}/files/outputs/report.csv`, "1,2");
    const list = await api.get(`${at}/files?path=/workspace/outputs`);
    expect(list.json).toMatchObject([
      { name: "chart.png", type: "file", size: 5 },
      { name: "report.csv", type: "file", size: 3 },
    ]);
    expect((await api.get(`${at}/stat?path=outputs`)).json).toMatchObject({ type: "directory" });
    expect((await api.post(`${at}/mkdir`, { path: "a/b" })).status).toBe(204);
    expect((await api.post(`${at}/move`, { from: "outputs/chart.png", to: "a/b/c.png" })).status).toBe(204);
    expect((await api.get(`${at}/files/a/b/c.png`)).bytes.toString()).toBe("45678");
    const head = await api.send("HEAD", `${at}/files/a/b/c.png`);
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "5"]);
    expect((await api.delete(`${at}/files/a/b/c.png`)).status).toBe(204);
    expect((await api.get(`${at}/files/a/b/c.png`)).status).toBe(404);
    expect((await api.delete(`${at}/files/a`)).status).toBe(409);
    expect((await api.delete(`${at}/files/a?recursive=true`)).status).toBe(204);
  });

  it("that a browser opens run nothing on this origin, whatever they are called", async () => {
    const page = "<script>fetch('/api/v1/keys')</script>";
    for (const name of ["page.html", 'ev"il\r\n.html', "ä.svg"]) {
      const path = `${at}/files/${encodeURIComponent(name)}`;
      expect((await api.put(path, page)).status).toBe(204);
      const { headers, bytes } = await api.get(path, { headers: { accept: "text/html" } });
      expect(bytes.toString()).toBe(page);
      expect(headers.get("content-type")).toBe("application/octet-stream");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-disposition")).toMatch(
        /^attachment; filename="[\w.-]+"; filename\*=UTF-8''[\w.%-]+$/,
      );
      expect(headers.get("content-security-policy")).toMatch(/^sandbox; default-src 'none'/);
      expect(headers.get("set-cookie")).toBeNull();
    }
  });

  it("outside the workspace cannot be named", async () => {
    for (const path of ["%2Fetc%2Fpasswd", "..%2F..%2Fetc%2Fpasswd", "a%2F..%2F..%2F..%2Fetc%2Fpasswd", "x%00y"]) {
      const { status, bytes } = await api.get(`${at}/files/${path}`);
      expect([400, 403, 404]).toContain(status);
      expect(bytes.toString()).not.toContain("root:");
    }
    await api.post(`${at}/exec`, { command: "ln -s /etc/passwd out" });
    expect((await api.get(`${at}/files/out`)).status).toBeGreaterThanOrEqual(400);
  });

  it("[FIL-02] in other folders that the user may write are named by absolute paths", async () => {
    expect((await api.put(`${at}/files/%2Ftmp/helper.py`, "print(1)")).status).toBe(204);
    expect((await api.post(`${at}/exec`, { command: "python3 /tmp/helper.py" })).json.stdout).toBe("1\n");
    expect((await api.get(`${at}/files/%2Ftmp%2Fhelper.py`)).bytes.toString()).toBe("print(1)");
    expect((await api.get(`${at}/files//tmp/helper.py`)).bytes.toString()).toBe("print(1)");
    expect((await api.get(`${at}/files?path=/tmp`)).json).toMatchObject([{ name: "helper.py" }]);
    const { url } = (await api.post(`${at}/signed-urls`, { method: "GET", path: "/tmp/helper.py" })).json;
    expect((await server.anonymous.get(url)).bytes.toString()).toBe("print(1)");
    const folder = await api.get(`${at}/files/%2Ftmp`);
    expect([folder.status, folder.json.code, folder.json.detail]).toEqual([400, "invalid", "/tmp: it is a folder"]);
    expect(folder.json.details).toMatchObject({ errno: "EISDIR" });
    await api.post(`${at}/exec`, { command: "echo old > kept; chmod 444 kept" });
    expect((await api.put(`${at}/files/kept`, "new")).status).toBe(403);
    expect((await api.get(`${at}/files/kept`)).bytes.toString()).toBe("old\n");
    const session = { session_id: at.split("/").at(-1) };
    const written = { ...session, path: "/home/user/note", content: "by a tool" };
    expect((await api.post("/api/v1/tools/write_file", written)).status).toBe(200);
    const got = await api.post("/api/v1/tools/read_file", { ...session, path: "/home/user/note" });
    expect(got.json.result).toMatchObject({ content: "by a tool" });
    expect((await api.post("/api/v1/tools/read_file", { ...session, path: "/tmp" })).json).toMatchObject({
      code: "invalid",
      details: { errno: "EISDIR" },
    });
  });

  it("go in and out as archives", async () => {
    await api.put(`${at}/files/tree/one`, "1");
    await api.put(`${at}/files/tree/deep/two`, "22");
    for (const gzip of ["", "&gzip=true"]) {
      const packed = await api.get(`${at}/archive?path=tree${gzip}`);
      expect(packed.status).toBe(200);
      expect(packed.headers.get("content-disposition")).toContain("attachment");
      const to = `copy${gzip.length}`;
      expect((await api.put(`${at}/archive?path=${to}`, packed.bytes)).status).toBe(204);
      const found = await api.get(`${at}/search?path=${to}&name=two`);
      expect(found.json.matches).toHaveLength(1);
    }
    expect((await api.get(`${at}/archive?path=nowhere`)).status).toBe(404);
    expect((await api.put(`${at}/archive?path=bad`, "this is no archive")).status).toBe(400);
  });

  it("are found by text", async () => {
    await api.put(`${at}/files/poem`, "one\ntwo needle\n");
    const { json } = await api.get(`${at}/search?text=needle`);
    expect(json).toMatchObject({ matches: [{ path: "poem", line: 2, column: 5 }], truncated: false });
  });

  it("[FIL-06] go through a signed URL once, for its method and path, without a key", async () => {
    await api.put(`${at}/files/gift`, "for you");
    const sign = async (method: string, path: string, more = {}) =>
      (await api.post(`${at}/signed-urls`, { method, path, ...more })).json.url as string;
    const url = await sign("GET", "gift");
    expect((await server.anonymous.put(url, "x")).status).toBe(403);
    expect((await server.anonymous.get(`${url}x`)).status).toBe(403);
    const got = await server.anonymous.get(url);
    expect([got.status, got.bytes.toString()]).toEqual([200, "for you"]);
    expect(got.headers.get("content-security-policy")).toMatch(/^sandbox/);
    expect((await server.anonymous.get(url)).status).toBe(403);

    const upload = await sign("PUT", "sent", { max_bytes: 5 });
    expect((await server.anonymous.put(upload, "too much")).status).toBe(413);
    expect((await server.anonymous.put(upload, "fine!")).status).toBe(204);
    expect((await server.anonymous.put(upload, "again")).status).toBe(403);
    expect((await api.get(`${at}/files/sent`)).bytes.toString()).toBe("fine!");
  });

  it("[FIL-06] lose their signed URL with the key that asked for it", async () => {
    const { key, token } = await server.keyring.issue({ name: "gone", namespace: "default", role: "agent" });
    const other = api.with({ "x-api-key": token });
    const { url } = (await other.post(`${at}/signed-urls`, { method: "GET", path: "gift" })).json;
    await server.keyring.revoke(key.id);
    expect((await server.anonymous.get(url)).status).toBe(403);
  });
});
