import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ociLimits, registryLimits } from "../../packages/server/src/registries/limits.ts";
import { LoopbackServer, pull, type RequestHandler } from "./loopback-registry.ts";
import { file, makeImage, makeTar, sha256 } from "./made-image.ts";
import { leftIn } from "./read-back.ts";

const made = makeImage({ layers: [makeTar([file("a", "x".repeat(300_000))])], compression: "none" });
const blobs = new Map([made.config, ...made.layers].map(({ bytes }) => [sha256(bytes), bytes]));
const layerDigest = sha256(made.layers[0]?.bytes ?? Buffer.alloc(0));

/** A registry with one image, as the specification has it. */
const wellBehaved: RequestHandler = ({ url = "", headers }, response) => {
  if (url.startsWith("/v2/made/manifests/"))
    return response.writeHead(200, { "content-type": made.manifest.mediaType }).end(made.manifest.bytes);
  const blob = blobs.get(url.split("/").at(-1) ?? "");
  if (blob === undefined) return response.writeHead(404).end();
  const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? Number.NaN);
  if (Number.isNaN(from)) return response.writeHead(200, { "content-length": blob.length }).end(blob);
  const range = `bytes ${from}-${blob.length - 1}/${blob.length}`;
  return response.writeHead(206, { "content-range": range }).end(blob.subarray(from));
};

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "caisson-oci-"));
});
afterEach(async () => expect(await leftIn(parent)).toEqual([]));
afterAll(() => rm(parent, { recursive: true }));

const pullFrom = (
  server: LoopbackServer,
  more: { credentials?: string; name?: string; others?: LoopbackServer[] } = {},
) =>
  pull(parent, `${server.host}/${more.name ?? "made:1"}`, {
    registries: [server, ...(more.others ?? [])].map(({ host }) => `http://${host}`),
    ...(more.credentials === undefined ? {} : { credentials: more.credentials }),
  });

describe("a registry that an operator names", () => {
  it("is asked for an image by its tag", async () => {
    await using server = await LoopbackServer.open(wellBehaved);
    const { digest, manifestDigest, tree } = await pullFrom(server);
    expect(digest).toBe(sha256(made.config.bytes));
    expect(manifestDigest).toBe(sha256(made.manifest.bytes));
    expect(Object.keys(tree)).toEqual(["a"]);
    expect(server.asked.map(({ url }) => url)).toContain("/v2/made/manifests/1");
  });

  it("is asked for an image by its digest, and another one is refused", async () => {
    await using server = await LoopbackServer.open(wellBehaved);
    const digest = sha256(made.manifest.bytes);
    expect((await pullFrom(server, { name: `made@${digest}` })).manifestDigest).toBe(digest);
    const other = `sha256:${"0".repeat(64)}`;
    await expect(pullFrom(server, { name: `made@${other}` })).rejects.toThrow(`what should be ${other}`);
  });

  it("is asked again, for the rest alone, when it breaks off", async () => {
    let breaks = 2;
    await using server = await LoopbackServer.open((request, response) => {
      if (!request.url?.endsWith(layerDigest) || breaks-- <= 0) return wellBehaved(request, response);
      const blob = blobs.get(layerDigest) ?? Buffer.alloc(0);
      const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
      const head = {
        "content-length": blob.length - from,
        "content-range": `bytes ${from}-${blob.length - 1}/${blob.length}`,
      };
      response.writeHead(from === 0 ? 200 : 206, head);
      response.write(blob.subarray(from, from + 100_000), () => response.destroy());
    });
    expect(Object.keys((await pullFrom(server)).tree)).toEqual(["a"]);
    const ranges = server.asked.filter(({ url }) => url.endsWith(layerDigest)).map(({ range }) => range);
    expect(ranges).toHaveLength(3);
    expect(ranges[0]).toBeUndefined();
    expect(Number(ranges[2]?.match(/\d+/)?.[0])).toBeGreaterThan(Number(ranges[1]?.match(/\d+/)?.[0]));
  });

  it("may know no ranges", async () => {
    let breaks = 1;
    await using server = await LoopbackServer.open((request, response) => {
      const blob = blobs.get(layerDigest) ?? Buffer.alloc(0);
      if (!request.url?.endsWith(layerDigest)) return wellBehaved(request, response);
      response.writeHead(200, { "content-length": blob.length });
      if (breaks-- > 0) return void response.write(blob.subarray(0, 100_000), () => response.destroy());
      return void response.end(blob);
    });
    expect(Object.keys((await pullFrom(server)).tree)).toEqual(["a"]);
  });

  it("is asked again when it is busy, and not for ever", async () => {
    let busy = 2;
    await using server = await LoopbackServer.open((request, response) =>
      busy-- > 0 ? response.writeHead(503, { "retry-after": "0" }).end() : wellBehaved(request, response),
    );
    expect(Object.keys((await pullFrom(server)).tree)).toEqual(["a"]);
    await using always = await LoopbackServer.open((_, response) => response.writeHead(500).end());
    await expect(pullFrom(always)).rejects.toThrow("status 500");
    expect(always.asked).toHaveLength(registryLimits.tries);
  });

  describe("with many layers", () => {
    const many = makeImage({
      layers: Array.from({ length: 8 }, (_, at) => makeTar([file(`f${at}`, "x".repeat(10_000 + at))])),
      compression: "none",
    });
    const layerBlobs = new Map(many.layers.map(({ bytes }) => [sha256(bytes), bytes]));
    /** Layers are answered by `give`, once it is known how many are asked for at once. */
    const registryOf = (give: (waiting: Map<string, () => void>, left: number) => void) => {
      const waiting = new Map<string, () => void>();
      let left = layerBlobs.size;
      return LoopbackServer.open(({ url = "" }, response) => {
        const digest = url.split("/").at(-1) ?? "";
        if (url.includes("/manifests/"))
          return response.writeHead(200, { "content-type": many.manifest.mediaType }).end(many.manifest.bytes);
        if (!layerBlobs.has(digest)) return response.end(many.config.bytes);
        waiting.set(digest, () => response.end(layerBlobs.get(digest)));
        give(waiting, left);
        if (waiting.size === 0) left -= ociLimits.downloads;
        return undefined;
      });
    };

    it("is asked for a few of them at once, and for no more", async () => {
      let most = 0;
      await using server = await registryOf((waiting, left) => {
        most = Math.max(most, waiting.size);
        if (waiting.size < Math.min(ociLimits.downloads, left)) return; // one at a time would wait for ever
        for (const answer of waiting.values()) answer();
        waiting.clear();
      });
      expect(Object.keys((await pullFrom(server)).tree)).toHaveLength(8);
      expect(most).toBe(ociLimits.downloads);
      expect(server.asked.filter(({ url }) => layerBlobs.has(url.split("/").at(-1) ?? ""))).toHaveLength(8);
    });

    it("is left as soon as one is not what it should be", async () => {
      const [bad = ""] = layerBlobs.keys();
      const right = layerBlobs.get(bad) ?? Buffer.alloc(0);
      layerBlobs.set(bad, Buffer.alloc(right.length, 1));
      // The others are never answered.
      await using server = await registryOf((waiting) => {
        if (waiting.size === ociLimits.downloads) waiting.get(bad)?.();
      });
      await expect(pullFrom(server)).rejects.toThrow("what should be");
      layerBlobs.set(bad, right);
      expect(server.asked.filter(({ url }) => layerBlobs.has(url.split("/").at(-1) ?? ""))).toHaveLength(3);
    });
  });

  it("may want a token, which is asked for with the credentials", async () => {
    await using auth = await LoopbackServer.open((_, response) => response.end(JSON.stringify({ token: "let-me-in" })));
    await using server = await LoopbackServer.open((request, response) => {
      if (request.headers.authorization === "Bearer let-me-in") return wellBehaved(request, response);
      const challenge = `Bearer realm="http://${auth.host}/token",service="made",scope="everything"`;
      return response.writeHead(401, { "www-authenticate": challenge }).end();
    });
    await pullFrom(server, { others: [auth], credentials: "me:secret" });
    const basic = `Basic ${Buffer.from("me:secret").toString("base64")}`;
    expect(auth.asked).toEqual([
      { url: "/token?service=made&scope=repository%3Amade%3Apull", authorization: basic, range: undefined },
    ]);
    expect(server.asked.every(({ authorization }) => authorization !== basic)).toBe(true);
  });

  it("may want the credentials themselves", async () => {
    const basic = `Basic ${Buffer.from("me:secret").toString("base64")}`;
    await using server = await LoopbackServer.open((request, response) =>
      request.headers.authorization === basic
        ? wellBehaved(request, response)
        : response.writeHead(401, { "www-authenticate": 'Basic realm="made"' }).end(),
    );
    await pullFrom(server, { credentials: "me:secret" });
    await expect(pullFrom(server)).rejects.toThrow("requires credentials");
    await expect(pullFrom(server, { credentials: "me:wrong" })).rejects.toThrow("refuses these credentials");
  });

  it("may send on to where its blobs are, which hears no credentials", async () => {
    await using store = await LoopbackServer.open(wellBehaved);
    await using server = await LoopbackServer.open((request, response) => {
      if (request.headers.authorization === undefined)
        return response.writeHead(401, { "www-authenticate": "Basic" }).end();
      if (!request.url?.includes("/blobs/")) return wellBehaved(request, response);
      return response.writeHead(307, { location: `http://${store.host}${request.url}` }).end();
    });
    await pullFrom(server, { others: [store], credentials: "me:secret" });
    expect(store.asked).toHaveLength(2);
    expect(store.asked.every(({ authorization }) => authorization === undefined)).toBe(true);
  });
});

describe("a registry cannot", () => {
  const answering = (path: string, answer: RequestHandler) =>
    LoopbackServer.open((request, response) =>
      request.url?.includes(path) ? answer(request, response) : wellBehaved(request, response),
    );

  it("send on to an address of this machine that no operator named", async () => {
    await using inside = await LoopbackServer.open(wellBehaved);
    await using server = await answering("/blobs/", ({ url }, response) =>
      response.writeHead(307, { location: `http://${inside.host}${url}` }).end(),
    );
    await expect(pullFrom(server)).rejects.toThrow(`${inside.host} without TLS`);
    const { port } = new URL(`http://${inside.host}`);
    await using other = await answering("/blobs/", ({ url }, response) =>
      response.writeHead(307, { location: `https://localhost:${port}${url}` }).end(),
    );
    await expect(pullFrom(other)).rejects.toThrow("is an address of this machine");
    expect(inside.asked).toEqual([]);
  });

  it("ask for credentials on behalf of an address of this machine", async () => {
    await using inside = await LoopbackServer.open(wellBehaved);
    await using server = await LoopbackServer.open((_, response) =>
      response.writeHead(401, { "www-authenticate": `Bearer realm="http://${inside.host}/token"` }).end(),
    );
    await expect(pullFrom(server, { credentials: "me:secret" })).rejects.toThrow("without TLS");
    expect(inside.asked).toEqual([]);
  });

  it("ask for credentials in words that nobody understands, or on and on", async () => {
    const challenges = [
      "Negotiate",
      "Bearer",
      'Bearer realm=""',
      'Bearer realm="/token"',
      'Bearer realm="file:///etc/passwd"',
      'Bearer realm="ftp://files.example/"',
      'Bearer realm="https://user:word@files.example/"',
      `Bearer realm="${"x".repeat(20_000)}`,
      `Bearer ${'a="b",'.repeat(4_000)}`,
      `Bearer ${"a".repeat(25_000)}`,
      Array.from({ length: 200 }, (_, at) => `Bearer realm="${at}"`),
    ];
    for (const challenge of challenges) {
      await using server = await LoopbackServer.open((_, response) =>
        response.writeHead(401, { "www-authenticate": challenge }).end(),
      );
      await expect(pullFrom(server, { credentials: "me:secret" })).rejects.toMatchObject({
        code: expect.stringMatching(/^(forbidden|invalid)$/),
      });
      expect(server.asked.map(({ authorization }) => authorization)).toEqual([undefined]);
    }
    // One that takes neither what it asked for nor its own token.
    await using never = await LoopbackServer.open((_, response) =>
      response.writeHead(401, { "www-authenticate": "Basic" }).end(),
    );
    await expect(pullFrom(never, { credentials: "me:secret" })).rejects.toThrow("refuses these credentials");
    expect(never.asked).toHaveLength(2);
  });

  it("send on manifests", async () => {
    await using server = await answering("/manifests/", (_, response) =>
      response.writeHead(302, { location: "/elsewhere" }).end(),
    );
    await expect(pullFrom(server)).rejects.toThrow("status 302");
  });

  it("send on without an end", async () => {
    await using server = await answering("/blobs/", ({ url }, response) =>
      response.writeHead(302, { location: `${url}/` }).end(),
    );
    await expect(pullFrom(server)).rejects.toThrow("it sends on and on");
  });

  it("send other bytes, fewer, or more", async () => {
    const right = blobs.get(layerDigest) ?? Buffer.alloc(0);
    const wrong = Buffer.from(right);
    wrong[wrong.length - 1] = 1;
    const cases: [Buffer, string][] = [
      [wrong, "what should be"],
      [right.subarray(1), `bytes, not ${right.length}`],
      [Buffer.concat([right, Buffer.alloc(1)]), `larger than ${right.length} bytes`],
    ];
    for (const [bytes, why] of cases) {
      await using server = await answering(layerDigest, (_, response) => response.end(bytes));
      await expect(pullFrom(server)).rejects.toThrow(why);
    }
  });

  it("send a manifest, or a token, without an end", async () => {
    const endless: RequestHandler = (_, response) => {
      response.writeHead(200, { "content-type": made.manifest.mediaType });
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024, " ")));
      };
      response.on("drain", more);
      more();
    };
    await using server = await answering("/manifests/", endless);
    await expect(pullFrom(server)).rejects.toThrow(`larger than ${ociLimits.documentBytes} bytes`);
    await using auth = await LoopbackServer.open(endless);
    await using closed = await LoopbackServer.open((_, response) =>
      response.writeHead(401, { "www-authenticate": `Bearer realm="http://${auth.host}/"` }).end(),
    );
    await expect(pullFrom(closed, { others: [auth] })).rejects.toThrow(
      `larger than ${registryLimits.tokenBytes} bytes`,
    );
  });

  it("send a part that nobody asked for", async () => {
    await using server = await answering(layerDigest, (_, response) =>
      response.writeHead(206, { "content-range": "bytes 5-10/11" }).end("hello"),
    );
    await expect(pullFrom(server)).rejects.toThrow("another part than it was asked for");
  });

  it("keep a pull that was given up", async () => {
    const abort = new AbortController();
    await using server = await answering("/blobs/", () => abort.abort()); // and says nothing
    const registries = [`http://${server.host}`];
    await expect(pull(parent, `${server.host}/made`, { registries, signal: abort.signal })).rejects.toThrow();
  });
});

describe("without an operator's word", () => {
  it("no registry of this machine is asked", async () => {
    await using server = await LoopbackServer.open(wellBehaved);
    for (const host of [server.host, server.host.replace("127.0.0.1", "localhost"), "169.254.169.254", "10.1.2.3:5000"])
      await expect(pull(parent, `${host}/made`, { registries: [] })).rejects.toThrow("is an address of this machine");
    expect(server.asked).toEqual([]);
  });

  it("what is no place of a registry is refused in the configuration", async () => {
    for (const text of ["ftp://x", "http://x/path", "http://user@x", "not a host"])
      await expect(pull(parent, "x/y", { registries: [text] })).rejects.toThrow("is not a registry");
  });
});
