import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { engines } from "../harness.ts";
import { archive } from "../sandbox/tar-bytes.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

type Entries = Parameters<typeof archive>;

const text = (name: string, version?: string) =>
  `---\nname: ${name}\n${version === undefined ? "" : `version: ${version}\n`}description: does ${name}\n---\nText.\n`;

describe.each(engines)("versions of skills (%s)", (engine) => {
  let server: TestServer;
  let api: Api;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const upload = (name: string, version: string | undefined, ...more: Entries) =>
    api.send("POST", "/api/v1/skills", {
      body: archive({ name: "SKILL.md", body: text(name, version) }, ...more),
      headers: { "content-type": "application/x-tar" },
    });

  /** Later than whatever was stored before it, by the clock that says what is newest. */
  const store = async (...given: Parameters<typeof upload>) => {
    const before = Date.now();
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(before));
    const { status, json } = await upload(...given);
    expect(status).toBe(201);
    return json;
  };

  const box = async () => {
    const at = `/api/v1/sandboxes/${await api.create()}`;
    return {
      at,
      install: async (...skill_ids: string[]) => (await api.post(`${at}/skills`, { skill_ids })).json,
      run: async (command: string) => (await api.post(`${at}/exec`, { command })).json.stdout as string,
    };
  };

  it("[IMG-05] stand side by side: a name is its newest, name@version that one", async () => {
    const one = await store("counter", "1.10", { name: "one", body: "1" });
    const two = await store("counter", "1.9", { name: "two", body: "2" });
    const plain = await store("counter", undefined, { name: "three", body: "3" });
    expect([one.version, two.version, plain.version]).toEqual(["1.10", "1.9", plain.id.slice(0, 12)]);
    expect(one.digest).toBe(`sha256:${one.id}`);
    const got = async (name: string) => (await api.get(`/api/v1/skills/${name}`)).json;
    expect(await got("counter")).toEqual(plain);
    expect(await got("counter@1.10")).toEqual(one);
    expect(await got(`counter@${plain.version}`)).toEqual(plain);
    expect(await got(two.id)).toEqual(two);
    expect((await api.get("/api/v1/skills?name=counter&version=1.9")).json).toEqual([two]);
    for (const name of ["counter@2", "counter@", "@1.10", "other", "counter@1.9@1.9"])
      expect((await api.get(`/api/v1/skills/${encodeURIComponent(name)}`)).status).toBe(404);
  });

  it("stay what they are: other files under the same version are refused, the same ones are not", async () => {
    await store("fixed", "1.0");
    expect((await upload("fixed", "1.0")).status).toBe(200);
    const { status, json } = await upload("fixed", "1.0", { name: "more", body: "x" });
    expect([status, json.detail]).toEqual([409, "skill fixed@1.0 already exists with other files"]);
    expect((await api.get("/api/v1/skills?name=fixed")).json).toHaveLength(1);
  });

  it("are deleted by name where there is one, and otherwise one by one", async () => {
    await store("old", "1");
    await store("old", "2");
    const gone = (name: string) => api.delete(`/api/v1/skills/${name}`);
    expect((await gone("old")).status).toBe(409);
    expect((await gone("old@2")).status).toBe(204);
    expect((await api.get("/api/v1/skills/old")).json.version).toBe("1");
    expect((await gone("old")).status).toBe(204);
    expect((await gone("old")).status).toBe(404);
  });

  it("[IMG-05] are installed by name, and a newer one takes the place of an older with all its files", async () => {
    const folder = { name: "lib/", type: "5", mode: 0o755 };
    await store("app", "1", folder, { name: "lib/old.py", body: "1" }, { name: "run", body: "one" });
    const { at, install, run } = await box();
    const first = await install("app");
    expect(first.skills).toMatchObject([{ name: "app", version: "1", path: "/workspace/skills/app" }]);
    await store("app", "2", { name: "run", body: "two" });
    expect((await install("app@1")).already_installed).toEqual(["app"]);
    await run("echo mine >skills/app/notes");
    expect((await install("app")).installed).toEqual(["app"]);
    expect(await run("cd skills/app; ls; cat run")).toBe("SKILL.md\nnotes\nrun\ntwo");
    expect((await api.get(`${at}/skills`)).json).toMatchObject([{ name: "app", version: "2" }]);
    expect((await install("app@1")).installed).toEqual(["app"]);
    expect(await run("cat skills/app/run skills/app/lib/old.py")).toBe("one1");
    const both = await api.post(`${at}/skills`, { skill_ids: ["app@1", "app@2"] });
    expect([both.status, both.json.detail]).toEqual([400, "cannot install two versions of skill app in one sandbox"]);
  });

  it("are told inside the sandbox by name, description and path, whatever code has made of that list", async () => {
    const { id } = await store("told", "1");
    await store("beside", "1");
    const { at, install, run } = await box();
    await install("told");
    await install("beside");
    const row = (name: string) => ({
      name,
      version: "1",
      description: `does ${name}`,
      path: `/workspace/skills/${name}`,
    });
    const index = async () => JSON.parse(await run("cat /workspace/skills/index.json"));
    expect(await index()).toMatchObject({ skills: [row("beside"), row("told")] });
    const hostile = [
      `{"skills": [{"name": "../../etc", "version": "1", "description": "x", "path": "/etc", "id": "${id}"}]}`,
      `{"skills": ${"[".repeat(100_000)}`,
      `{"skills": [null, 1, {"name": ["told"]}, {"name": "told", "version": "1", "description": "x", "id": "no"}]}`,
      "not json",
    ];
    for (const text of hostile) {
      await api.send("PUT", `${at}/files/skills/index.json`, { body: Buffer.from(text) });
      expect((await api.get(`${at}/skills`)).json).toEqual([]);
    }
    await run("rm -r skills/beside");
    expect((await install("told")).already_installed).toEqual(["told"]);
    expect((await index()).skills).toMatchObject([row("told")]);
    await run("cd skills; rm index.json; ln -s /etc/passwd index.json");
    expect((await api.get(`${at}/skills`)).json).toEqual([]);
    await run("cd skills; rm index.json; mkdir index.json");
    expect((await api.post(`${at}/skills`, { skill_ids: ["told"] })).status).toBe(400);
  });

  it("are read file by file without a sandbox", async () => {
    const { id } = await store(
      "read",
      "1",
      { name: "lib/ä.txt", body: "text" },
      { name: "l", type: "2", target: "lib" },
    );
    const files = (await api.get("/api/v1/skills/read/files")).json;
    expect(files.map(({ path, type }: Record<string, string>) => [path, type])).toEqual([
      ["SKILL.md", "file"],
      ["l", "link"],
      ["lib", "directory"],
      ["lib/ä.txt", "file"],
    ]);
    const read = (path: string) => api.send("GET", `/api/v1/skills/${id}/content/${path}`);
    const found = await read(encodeURI("lib/ä.txt"));
    expect([found.status, found.bytes.toString(), found.headers.get("content-disposition")]).toMatchObject([
      200,
      "text",
      expect.stringContaining("attachment"),
    ]);
    expect((await api.get("/api/v1/skills/read/content/SKILL.md")).bytes.toString()).toBe(text("read", "1"));
    for (const path of ["lib", "l", "none", "l/ä.txt"]) expect((await read(encodeURI(path))).status).toBe(404);
  });

  it("whose bytes on the disk are not what the digest says are not installed", async () => {
    await store("damaged", "1", { name: "big", body: "precious bytes ".repeat(1000) });
    const folder = join(server.home, "daemon/blobs");
    const paths = (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name));
    const saved = await Promise.all(paths.map(async (path) => ({ path, bytes: await readFile(path) })));
    const { at, install } = await box();
    const { sha256 } = (await api.get("/api/v1/skills/damaged/files")).json[1];
    const blob = saved.find(({ path }) => path.replaceAll("/", "").endsWith(sha256)) ?? {
      path: "",
      bytes: Buffer.alloc(0),
    };
    await writeFile(blob.path, Buffer.concat([Buffer.from([0]), Buffer.from("other bytes")]));
    expect((await api.post(`${at}/skills`, { skill_ids: ["damaged"] })).status).toBe(500);
    expect((await api.get(`${at}/files?path=/workspace`)).json).toMatchObject([{ name: "output" }]);
    await writeFile(blob.path, blob.bytes);
    expect((await install("damaged")).installed).toEqual(["damaged"]);
    server.errors.length = 0; // the damage was told
  });
});
