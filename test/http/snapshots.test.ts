import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { type SnapshotParts, Snapshots } from "../../packages/server/src/sandboxes/snapshots.ts";
import { engines } from "../harness.ts";
import { noJournal } from "../journal.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

describe.each(engines)("snapshots over REST (%s)", (engine) => {
  let server: TestServer;
  let api: Api;
  let id: string;
  let at: string;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
    id = await api.create();
    at = `/api/v1/sandboxes/${id}`;
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const shell = async (command: string, sandbox = at) => {
    const { json } = await api.post(`${sandbox}/exec`, { command });
    expect(json.exit_code, json.stderr).toBe(0);
    return json.stdout as string;
  };
  const paths = (rows: { path: string }[]) => rows.map(({ path }) => path);

  it("[LIF-09] are taken, compared, restored, made into a new sandbox, listed and deleted", async () => {
    await shell("mkdir d empty; echo one > d/one; echo two > two; ln -s d/one link; touch -d @1000000000.5 two");
    const taken = await api.post(`${at}/snapshots`, { description: "before" });
    expect(taken.status).toBe(201);
    expect(taken.json).toMatchObject({
      sandbox_id: id,
      description: "before",
      file_count: 2,
      folder_count: 3,
      link_count: 1,
      total_size: 8,
    });
    const snapshot = taken.json.id as string;
    expect(taken.headers.get("location")).toBe(`/api/v1/snapshots/${snapshot}`);

    await shell("echo more >> two; rm -r d; mkdir new; echo x > new/file; chmod 700 empty");
    const since = await api.get(`${at}/snapshots/${snapshot}/diff`);
    expect(paths(since.json.created)).toEqual(["new", "new/file"]);
    expect(paths(since.json.modified)).toEqual(["empty", "two"]);
    expect(paths(since.json.deleted)).toEqual(["d", "d/one"]);
    const second = (await api.post(`${at}/snapshots`)).json.id;
    const between = await api.get(`/api/v1/snapshots/${snapshot}/diff?with=${second}`);
    expect(between.json).toEqual(since.json);

    const restored = await api.post(`${at}/snapshots/${snapshot}/restore`);
    expect(restored.json).toMatchObject({ deleted: 1, written: 2 });
    expect(await shell("ls -A; cat d/one two link; stat -c %a,%.9Y empty two | tr '\\n' ' '")).toMatch(
      /^d\nempty\nlink\noutput\ntwo\none\ntwo\none\n755,\S+ 644,1000000000\.500000000 $/,
    );
    expect((await api.get(`${at}/snapshots/${snapshot}/diff`)).json).toEqual({
      created: [],
      modified: [],
      deleted: [],
      truncated: false,
    });
    expect((await api.post(`${at}/snapshots/${snapshot}/restore`)).json).toEqual({
      deleted: 0,
      written: 0,
      changed: 0,
      written_size: 0,
    });

    const other = await api.create({ snapshot_id: second });
    expect(await shell("cat two new/file; ls d 2>&1 || true", `/api/v1/sandboxes/${other}`)).toContain("more\nx\n");

    const listed = await api.get(`${at}/snapshots?limit=1`);
    expect(listed.json.map((row: { id: string }) => row.id)).toEqual([second]);
    const next = listed.headers.get("link")?.match(/<([^>]+)>/)?.[1] ?? "";
    expect((await api.get(next)).json.map((row: { id: string }) => row.id)).toEqual([snapshot]);

    expect((await api.delete(`/api/v1/snapshots/${second}`)).status).toBe(204);
    expect((await api.get(`/api/v1/snapshots/${second}`)).status).toBe(404);
    expect((await api.delete(`/api/v1/snapshots/${second}`)).status).toBe(404);
    expect((await api.post(`${at}/snapshots/${second}/restore`)).status).toBe(404);
    expect((await api.post("/api/v1/sandboxes", { snapshot_id: second })).status).toBe(404);
    await server.storage.sweeper.settled();
    expect((await api.post(`${at}/snapshots/${snapshot}/restore`)).status).toBe(200);

    const types = (await server.store.audit.search({ sandboxId: id })).map(({ type }) => type);
    for (const type of ["snapshot.created", "snapshot.restored", "snapshot.deleted"]) expect(types).toContain(type);
  });

  it("[LIF-09] tell what is in them, page by page, with sizes, times and hashes", async () => {
    const own = `/api/v1/sandboxes/${await api.create()}`;
    await shell("printf abc > a; mkdir b; touch -d @1000000000 a b; ln a b/hard; ln -s /etc/passwd out", own);
    const { id: snapshot } = (await api.post(`${own}/snapshots`, { description: "" })).json;
    const first = await api.get(`/api/v1/snapshots/${snapshot}/files?limit=3`);
    expect(first.json).toMatchObject([
      {
        path: "a",
        type: "file",
        size: 3,
        mode: "0644",
        mtime: "2001-09-09T01:46:40.000Z",
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      },
      { path: "b", type: "directory", sha256: null },
      { path: "b/hard", type: "hard-link", target: "a" },
    ]);
    const next = first.headers.get("link")?.match(/<([^>]+)>/)?.[1] ?? "";
    expect((await api.get(next)).json).toMatchObject([
      { path: "out", type: "link", target: "/etc/passwd" },
      { path: "output", type: "directory" },
    ]);
    // It outlives its sandbox.
    expect((await api.delete(own)).status).toBe(204);
    expect((await api.get(`/api/v1/snapshots/${snapshot}`)).status).toBe(200);
    expect((await api.get(`/api/v1/snapshots?sandbox_id=${own.split("/").at(-1)}`)).json).toHaveLength(1);
  });

  it("of another namespace do not exist, and a viewer only looks", async () => {
    const { id: snapshot } = (await api.post(`${at}/snapshots`, { description: "mine" })).json;
    const stranger = await server.as("admin", "other");
    const theirs = `/api/v1/sandboxes/${await stranger.create()}`;
    for (const [method, path] of [
      ["GET", `/api/v1/snapshots/${snapshot}`],
      ["GET", `/api/v1/snapshots/${snapshot}/files`],
      ["GET", `/api/v1/snapshots/${snapshot}/diff?with=${snapshot}`],
      ["GET", `${theirs}/snapshots/${snapshot}/diff`],
      ["POST", `${theirs}/snapshots/${snapshot}/restore`],
      ["DELETE", `/api/v1/snapshots/${snapshot}`],
      ["POST", `${at}/snapshots`],
      ["GET", `${at}/snapshots`],
    ] as const)
      expect([method, path, (await stranger.send(method, path)).status]).toEqual([method, path, 404]);
    expect((await stranger.post("/api/v1/sandboxes", { snapshot_id: snapshot })).status).toBe(404);
    expect((await stranger.get("/api/v1/snapshots")).json).toEqual([]);
    const viewer = await server.as("viewer");
    expect((await viewer.get(`/api/v1/snapshots/${snapshot}`)).status).toBe(200);
    expect((await viewer.post(`${at}/snapshots`)).status).toBe(403);
    expect((await viewer.post(`${at}/snapshots/${snapshot}/restore`)).status).toBe(403);
    expect((await viewer.delete(`/api/v1/snapshots/${snapshot}`)).status).toBe(403);
  });

  it("[LIF-09] are readable file by file: bytes over REST, text or base64 for agents, by each name of a file", async () => {
    const sandbox = await api.create({ session_key: "read" });
    const own = `/api/v1/sandboxes/${sandbox}`;
    await shell(
      "mkdir d; printf 'ä\\n' > d/text; head -c 3000000 /dev/zero > big; printf '\\001\\377' > bytes; ln big same; ln -s d/text link",
      own,
    );
    const snapshot = (await api.post(`${own}/snapshots`)).json.id;
    await shell("rm -rf d big bytes", own);
    const content = (path: string) => api.send("GET", `/api/v1/snapshots/${snapshot}/content/${path}`);
    expect((await content("d/text")).bytes.toString()).toBe("ä\n");
    expect((await content("same")).headers.get("content-length")).toBe("3000000");
    for (const [path, status] of [
      ["d", 400],
      ["link", 400],
      ["none", 404],
    ] as const)
      expect([path, (await content(path)).status]).toEqual([path, status]);
    const tool = async (given: object) => {
      const { json } = await api.post("/api/v1/tools/read_file", {
        snapshot_id: snapshot,
        session_id: "read",
        ...given,
      });
      return json.result;
    };
    expect(await tool({ path: "d/text" })).toMatchObject({ content: "ä\n", encoding: "utf8", next_offset: null });
    expect(await tool({ path: "bytes" })).toMatchObject({ content: "Af8=", encoding: "base64", sandbox_id: sandbox });
    expect(await tool({ path: "big", offset: 2_999_998 })).toMatchObject({ content: "AAA=", size_bytes: 3_000_000 });
    expect(await tool({ path: "big", max_bytes: 1 })).toMatchObject({ content: "AA==", next_offset: 1 });
    const stranger = await server.as("admin", "elsewhere");
    expect((await stranger.get(`/api/v1/snapshots/${snapshot}/content/bytes`)).status).toBe(404);
  });

  it("[S86] [SEC-06] are read without the values that their sandbox had, and tell nothing of other secrets", async () => {
    const operator = await server.as("operator");
    const made = await api.create();
    const own = `/api/v1/sandboxes/${made}`;
    const secrets = [
      { name: "INSIDE", value: "hidden-value-1", deliver: { as: "env", variable: "INSIDE" } },
      { name: "UNBOUND", value: "hidden-value-2" },
      {
        name: "SENT",
        value: "hidden-value-3",
        deliver: { as: "header", header: "Authorization", hosts: ["api.example.com"], format: "{}", variable: "SENT" },
      },
    ];
    for (const { name, value, deliver } of secrets) {
      expect((await operator.put(`/api/v1/secrets/${name}`, value)).status).toBe(201);
      const binding = { target: { sandbox_id: made }, deliver };
      if (deliver !== undefined)
        expect((await operator.post(`/api/v1/secrets/${name}/bindings`, binding)).status).toBe(201);
    }
    const guesses = Array.from({ length: 4 }, (_, at) => `hidden-value-${at}`);
    await shell(`printf 'key=%s;' "$INSIDE" ${guesses.join(" ")} > guesses`, own);
    const snapshot = (await api.post(`${own}/snapshots`)).json.id;
    await operator.put("/api/v1/secrets/YOUNGER", "hidden-value-0");
    const content = async () => (await api.get(`/api/v1/snapshots/${snapshot}/content/guesses`)).bytes;
    const shown = "key=*;key=hidden-value-0;key=*;key=hidden-value-2;key=hidden-value-3;".replaceAll(
      "*",
      "*".repeat(14),
    );
    expect((await content()).toString()).toBe(shown);
    expect((await api.send("DELETE", own)).status).toBeLessThan(300);
    expect((await content()).toString()).toBe(shown);
  });

  /** With the server's own store, and limits or blobs of its own. */
  function snapshotsWith(more: Partial<SnapshotParts>) {
    const { store, storage, journal } = server;
    const { snapshots: records } = store;
    const shared = { records, journal, clock: systemClock, sweeper: storage.sweeper, blobs: server.blobs };
    return new Snapshots({ ...shared, ...more });
  }
  const caller = (namespace: string): Caller => ({
    principal: { id: "key", name: "test", namespace, role: "agent" },
    requestId: "request",
  });

  it("past the limits of a sandbox, a namespace or its bytes are refused", async () => {
    const many = { perSandbox: 9, perNamespace: 9, namespaceBytes: 2 ** 40 };
    const take = (limits: typeof many, namespace = "bounded") =>
      server.fleet.use(caller("default"), id, (sandbox) =>
        snapshotsWith({ limits }).create(caller(namespace), sandbox, "x"),
      );
    await shell("head -c 1000 /dev/urandom > fresh");
    await take(many);
    for (const limit of ["perSandbox", "perNamespace", "namespaceBytes"] as const)
      await expect(take({ ...many, [limit]: 1 })).rejects.toMatchObject({ code: "limit_exceeded" });
    await take({ ...many, perNamespace: 1 }, "another");
    await expect(
      server.fleet.use(caller("default"), id, (sandbox) =>
        snapshotsWith({}).create(caller("bounded"), sandbox, "x".repeat(1001)),
      ),
    ).rejects.toMatchObject({ code: "invalid" });
  });

  it("that are being read cannot be deleted", async () => {
    const gate = Promise.withResolvers<void>();
    const read = async (digest: string) => {
      await gate.promise;
      return server.blobs.read(digest);
    };
    const { blobs } = server;
    const slow = snapshotsWith({
      blobs: { read, begin: () => blobs.begin(), sweep: (mark) => blobs.sweep(mark), look: (mark) => blobs.look(mark) },
    });
    const { id: snapshot } = (await api.post(`${at}/snapshots`)).json;
    const reading = slow.entries(caller("default"), snapshot, { limit: 9 });
    await expect(slow.delete(caller("default"), snapshot)).rejects.toMatchObject({ code: "conflict" });
    gate.resolve();
    expect((await reading).length).toBeGreaterThan(0);
    await slow.delete(caller("default"), snapshot);
    expect((await api.get(`/api/v1/snapshots/${snapshot}`)).status).toBe(404);
  });

  it("whose entry in the timeline cannot be written are not there", async () => {
    const journal = noJournal;
    const before = (await api.get("/api/v1/snapshots")).json.length;
    await expect(
      server.fleet.use(caller("default"), id, (sandbox) =>
        snapshotsWith({ journal }).create(caller("default"), sandbox),
      ),
    ).rejects.toThrow("no journal");
    expect((await api.get("/api/v1/snapshots")).json).toHaveLength(before);
    const { json: kept } = await api.post(`${at}/snapshots`);
    await expect(snapshotsWith({ journal }).delete(caller("default"), kept.id)).rejects.toThrow("no journal");
    expect((await api.get(`/api/v1/snapshots/${kept.id}`)).status).toBe(200);
  });
});
