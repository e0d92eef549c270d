import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileDownloads } from "../../packages/server/src/store/downloads.ts";
import { exchange, field } from "./field.ts";
import { dnsHost, type WebHost, webHost } from "./hosts.ts";
import { http, names } from "./rules.ts";

const KiB = 1024;
const bodyOf = (text: string) => text.slice(text.indexOf("\r\n\r\n") + 4);

describe("files of registries that are kept", () => {
  let folder: string;
  const errors: unknown[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "caisson-downloads-"));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
    expect(errors.splice(0)).toEqual([]);
  });
  const openDownloads = (mostBytes = 64 * KiB) =>
    FileDownloads.open(folder, { mostBytes, onError: (error) => errors.push(error) });

  /** A sandbox whose policy names a registry, and what it is answered. */
  async function scene(answer: RequestListener, keepsFiles = true) {
    const [host, dns, downloads] = await Promise.all([webHost({ answer }), dnsHost(names), openDownloads()]);
    const policy = { allow: [{ ...http("allowed.example", host.port), keepsFiles }] };
    const box = await field({ policy, dns: dns.address, downloads });
    return {
      host,
      get: async (path: string, fields = "", method = "GET") => {
        const socket = await box.tunnels.connect("127.64.0.1", 3128);
        const asked = `${method} http://allowed.example:${host.port}${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${fields}\r\n`;
        return exchange(socket, asked);
      },
      async [Symbol.asyncDispose]() {
        await box[Symbol.asyncDispose]();
        for (const one of [host, dns]) await one[Symbol.asyncDispose]();
      },
    };
  }
  const told = (host: WebHost) => host.requests.map(({ url }) => url);
  const say: RequestListener = (request, response) => void response.end(`the file ${request.url}`);

  it("take no more of the disk than half as much again while they come, however slowly they are read", async () => {
    const downloads = await openDownloads(64 * KiB);
    const first = await downloads.keep("a", 16 * KiB);
    const second = await downloads.keep("b", 16 * KiB);
    expect([first, second]).not.toContain(undefined);
    expect(await downloads.keep("c", 1)).toBeUndefined();
    await first?.[Symbol.asyncDispose]();
    const third = await downloads.keep("c", 16 * KiB);
    expect(third).toBeDefined();
    for (const draft of [second, third]) await draft?.[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
  });

  it("[EXE-10] are asked for once, in words that no sandbox has a say in", async () => {
    await using one = await scene(say);
    const evil = "X-Forwarded-Host: evil.example\r\nAccept-Encoding: gzip\r\nAccept: text/evil\r\n";
    const first = await one.get("/a-1.0.whl", evil);
    const second = await one.get("/a-1.0.whl");
    expect([first, second].map(({ text }) => bodyOf(text))).toEqual(["the file /a-1.0.whl", "the file /a-1.0.whl"]);
    expect(told(one.host)).toEqual(["/a-1.0.whl"]);
    expect(one.host.requests[0]?.headers).toEqual({
      host: `allowed.example:${one.host.port}`,
      ...{ accept: "*/*", "accept-encoding": "identity", connection: "keep-alive" },
    });
  });

  it.each([
    ["a query", "/a-1.0.whl?x", "", "GET"],
    ["a part", "/a-1.0.whl", "Range: bytes=0-1\r\n", "GET"],
    ["somebody's own", "/a-1.0.whl", "Authorization: Basic eA==\r\n", "GET"],
    ["what an index says", "/simple/a/", "", "GET"],
    ["what was posted", "/a-1.0.whl", "Content-Length: 0\r\n", "POST"],
  ])("are not %s", async (_name, path, fields, method) => {
    await using one = await scene(say);
    for (let times = 0; times < 2; times++) await one.get(path, fields, method);
    expect([told(one.host), await readdir(folder)]).toEqual([[path, path], []]);
  });

  it.each<[string, RequestListener, boolean]>([
    ["one that is not there", (_request, response) => void response.writeHead(404).end("none"), false],
    [
      "one that breaks off",
      (_, response) => void response.writeHead(200, { "content-length": 9 }).write("part", () => response.destroy()),
      true,
    ],
    ["one of no told length", (_request, response) => void response.write("some", () => response.end("more")), false],
    [
      "one that is packed",
      (_request, response) =>
        void response.writeHead(200, { "content-encoding": "gzip", "content-length": 1 }).end("x"),
      false,
    ],
    ["one that is too large", (_request, response) => void response.end(Buffer.alloc(17 * KiB)), false],
  ])("are never %s", async (_name, answer, reset) => {
    await using one = await scene(answer);
    for (let times = 0; times < 2; times++) expect((await one.get("/a-1.0.whl")).reset).toBe(reset);
    expect([one.host.requests.length, await readdir(folder)]).toEqual([2, []]);
  });

  it("are for rules of registries alone", async () => {
    {
      await using one = await scene(say);
      await one.get("/a-1.0.whl");
    }
    await using other = await scene((_request, response) => void response.end("its own"), false);
    expect(bodyOf((await other.get("/a-1.0.whl")).text)).toBe("its own");
  });

  it("make room for others, the ones that nobody asked for first, also after a restart", async () => {
    const put = async (downloads: FileDownloads, url: string) => {
      await using draft = await downloads.keep(url, 10 * KiB);
      await draft?.write(Buffer.alloc(10 * KiB, url));
      await draft?.commit();
    };
    await writeFile(join(folder, ".draft"), "of one that was killed");
    const downloads = await openDownloads(40 * KiB);
    for (const url of ["a", "b", "c", "d"]) await put(downloads, url);
    const again = await downloads.find("a");
    expect(await readFile(join(folder, (await readdir(folder))[0] ?? ""))).toHaveLength(10 * KiB);
    again?.read().destroy();
    await put(downloads, "e");
    const has = async (one: FileDownloads) => {
      const found = await Promise.all(["a", "b", "c", "d", "e"].map((url) => one.find(url)));
      for (const each of found) each?.read().destroy();
      return found.map((each) => each !== undefined);
    };
    expect(await has(downloads)).toEqual([true, false, true, true, true]);
    expect((await has(await openDownloads(20 * KiB))).filter(Boolean)).toHaveLength(2);
    expect(await readdir(folder)).toHaveLength(2);
  });
});
