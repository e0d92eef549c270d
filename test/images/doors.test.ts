import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Caisson } from "../../packages/sdk/src/index.ts";
import { readSpec } from "../../packages/server/src/images/read-spec.ts";
import { noRegistries } from "../../packages/server/src/package-install/read-registries.ts";
import { ordinary, root } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { openRegistries, type TestRegistries } from "./fixture.ts";

const text = "name: tools\ndescription: a tool\naliases: [registry.example/tools:1]\ndebian: [tool]\n";

describe.skipIf(ordinary)("images over the doors", () => {
  let registries: TestRegistries;
  let server: TestServer;
  let folder: string;
  let admin: Caisson;
  let adminKey: string;
  let agent: Caisson;

  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-test-");
    registries = await openRegistries();
    const catalogue = [{ spec: await readSpec(text), text }];
    server = await openTestServer("container", {
      network: { dnsServers: [registries.dns] },
      packages: { registries: noRegistries, apt: registries.apt, catalogue, mustPin: false },
    });
    const key = async (role: "admin" | "agent") =>
      (await server.keyring.issue({ name: role, namespace: "default", role })).token;
    adminKey = await key("admin");
    admin = new Caisson({ url: server.base, key: adminKey });
    agent = new Caisson({ url: server.base, key: await key("agent") });
  });
  afterAll(async () => {
    for (const { id } of (await admin?.images.list()) ?? []) await admin.images.delete(id);
    await server?.[Symbol.asyncDispose]();
    await registries?.[Symbol.asyncDispose]();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  /** The command line, with an administrator's key. */
  const caisson = (...words: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const env = { ...process.env, CAISSON_HOME: folder, CAISSON_URL: server.base, CAISSON_API_KEY: adminKey };
      execFile(join(root, "caisson"), words, { env, cwd: folder }, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
      );
    });

  it("[IMG-02] one call brings one of the catalogue, and a sandbox asks for it by its name or its alias", async () => {
    const missing = await agent.createSandbox({ image: "registry.example/tools:1" }).catch((error: unknown) => error);
    expect(missing).toMatchObject({ status: 404, details: { images: ["host"], catalogue: "tools" } });
    expect(missing).toMatchObject({ hint: "caisson image import tools" });
    expect(await agent.images.catalogue()).toMatchObject([{ name: "tools", imported: false, spec: text }]);
    const image = await admin.images.import({ catalogue: "tools" });
    expect(image).toMatchObject({ name: "tools", source: "catalogue", state: "building", description: "a tool" });
    const said = await Array.fromAsync(agent.images.log("tools"));
    expect(said.at(-1)).toEqual({ type: "end", state: "ready", step: null, error: null });
    expect(said.find((message) => message.type === "step")).toMatchObject({ step: "debian: index", at: 1 });
    expect(await admin.images.import({ catalogue: "tools" })).toMatchObject({ id: image.id, state: "ready" });
    expect(await agent.images.catalogue()).toMatchObject([{ name: "tools", imported: true }]);
    await using sandbox = await agent.createSandbox({ image: "registry.example/tools:1" });
    expect(sandbox.info.image).toBe("tools");
    expect((await sandbox.exec("tool")).stdout).toBe("from the library\n");
    await expect(admin.images.delete("tools")).rejects.toMatchObject({ status: 409 });
  }, 300_000);

  it("agents bring and delete none, and what is wrong is refused with its place", async () => {
    await expect(agent.images.import({ catalogue: "tools" })).rejects.toMatchObject({ status: 403 });
    await expect(agent.images.delete("tools")).rejects.toMatchObject({ status: 403 });
    await expect(admin.images.import({ catalogue: "nothing" })).rejects.toMatchObject({
      status: 404,
      hint: "images: tools",
    });
    const wrong = await admin.images.import({ spec: "name: a\nentrypoint: x\n" }).catch((error: unknown) => error);
    expect(wrong).toMatchObject({ status: 400, details: { line: 2 } });
    await expect(admin.images.get("nothing")).rejects.toMatchObject({ status: 404 });
    await expect(Array.fromAsync(admin.images.log("nothing"))).rejects.toMatchObject({ status: 404 });
    await expect(admin.images.delete("host")).rejects.toMatchObject({ code: "conflict" });
  });

  it("[CLI-01] the command line brings them with each step, shows them, and takes them away", async () => {
    await writeFile(join(folder, "own.yaml"), "name: own\ndebian: [tool]\n");
    const brought = await caisson("image", "import", "own.yaml");
    expect(brought.code, brought.stderr).toBe(0);
    expect(brought.stderr.split("\n").slice(0, 2)).toEqual(["[1/10] debian: index", "[2/10] debian: download"]);
    const id = brought.stdout.trim();
    expect((await caisson("image", "import", "own.yaml")).stdout.trim()).toBe(id);
    const listed = (await caisson("image", "ls")).stdout;
    expect(listed).toMatch(new RegExp(`${id} +own +ready`));
    expect(JSON.parse((await caisson("image", "show", "own")).stdout)).toMatchObject({ id, state: "ready" });
    expect((await caisson("image", "log", "own")).stdout).toContain("==> debian: unpack\n");
    expect((await caisson("image", "catalogue")).stdout).toMatch(/^tools +(yes|no) +a tool$/m);
    await writeFile(join(folder, "wrong.yaml"), "name: wrong\ndebian: [no-such-package]\n");
    const failed = await caisson("image", "import", "wrong.yaml");
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("cannot build image wrong\ndebian: download: exit code 100");
    expect((await caisson("image", "log", "wrong")).code).toBe(1);
    for (const name of ["own", "wrong"]) expect((await caisson("image", "rm", name)).code).toBe(0);
    expect((await caisson("image", "show", "own")).stderr).toContain("unknown image");
  }, 300_000);
});
