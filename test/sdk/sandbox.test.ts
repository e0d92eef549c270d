import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError, Caisson, ConnectionError } from "../../packages/sdk/src/index.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

describe("the SDK", () => {
  let server: TestServer;
  let caisson: Caisson;
  beforeAll(async () => {
    server = await openTestServer("container");
    const { token } = await server.keyring.issue({ name: "sdk", namespace: "default", role: "agent" });
    caisson = new Caisson({ url: server.base, key: token });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[API-05] makes a sandbox, runs in it, and destroys it at the end of its block", async () => {
    let id: string;
    {
      await using sandbox = await caisson.createSandbox({ labels: { made: "by-sdk" }, description: "first" });
      id = sandbox.id;
      const result = await sandbox.exec("echo hello; echo oops >&2; echo x >made; exit 3");
      expect(result).toMatchObject({ exit_code: 3, stdout: "hello\n", stderr: "oops\n" });
      expect(result.files_changed).toMatchObject([{ path: "made", action: "created", size_bytes: 2 }]);
      expect((await sandbox.executeCode("python", "print(6*7)")).stdout).toBe("42\n");
      expect(await sandbox.refresh()).toMatchObject({ labels: { made: "by-sdk" }, description: "first" });
      expect((await sandbox.change({ description: "second" })).description).toBe("second");
    }
    await expect(caisson.getSandbox(id)).rejects.toMatchObject({ code: "not_found", status: 404 });
  });

  it("[API-05] gives output as it comes, and ends the run when its reader leaves", async () => {
    await using sandbox = await caisson.createSandbox();
    const seen: string[] = [];
    for await (const message of sandbox.execStream("echo one; cat; echo two", { stdin: "in" }))
      seen.push(message.type === "result" ? `exit ${message.exit_code}` : message.data);
    expect(seen.join("")).toBe("one\nintwo\nexit 0");
    for await (const message of sandbox.execStream("echo $$; exec sleep 1000")) {
      if (message.type === "stdout") break;
    }
    await expect
      .poll(async () => (await sandbox.exec("grep -q sleep /proc/[0-9]*/comm")).exit_code, { timeout: 20_000 })
      .not.toBe(0);
  });

  it("[API-05] writes, reads, lists, moves and removes files", async () => {
    await using sandbox = await caisson.createSandbox();
    const { files } = sandbox;
    await files.write("odd names/ü %#?.txt", "0123456789");
    expect(await files.readText("/workspace/odd names/ü %#?.txt")).toBe("0123456789");
    const part = await files.read("odd names/ü %#?.txt", { offset: 2, length: 3 });
    expect(await new Response(part).text()).toBe("234");
    expect(await files.list("odd names")).toMatchObject([{ name: "ü %#?.txt", type: "file", size: 10 }]);
    await files.move("odd names/ü %#?.txt", "plain");
    expect(await files.stat("plain")).toMatchObject({ type: "file", size: 10 });
    const tar = await files.download();
    await files.upload(tar, "copy");
    expect((await files.search({ text: "345" })).matches.map(({ path }) => path).sort()).toEqual([
      "copy/plain",
      "plain",
    ]);
    const { url } = await files.sign("GET", "plain");
    expect(await (await fetch(url)).text()).toBe("0123456789");
    await files.write("/tmp/ü %#?.py", "print(2)");
    expect(await files.readText("/tmp/ü %#?.py")).toBe("print(2)");
    expect(await files.list("/tmp")).toMatchObject([{ name: "ü %#?.py" }]);
    await files.remove("/tmp/ü %#?.py");
    expect(await files.list("/tmp")).toEqual([]);
    await expect(files.readText("/etc/passwd")).rejects.toMatchObject({ code: "forbidden" });
    await files.remove("plain");
    await expect(files.stat("plain")).rejects.toMatchObject({ code: "not_found" });
  });

  it("[API-05] tells refusals, and a daemon that is not there, by their types", async () => {
    const nobody = new Caisson({ url: server.base, key: "wrong" });
    const refusal = await nobody.createSandbox().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ApiError);
    expect(refusal).toMatchObject({ code: "unauthenticated", status: 401, requestId: expect.any(String) });
    const nowhere = new Caisson({ url: "http://127.0.0.1:9", retries: 0 });
    await expect(nowhere.createSandbox()).rejects.toBeInstanceOf(ConnectionError);
  });

  it("[API-05] lists all pages", async () => {
    const made = await Promise.all([1, 2, 3].map(() => caisson.createSandbox({ labels: { page: "1" } })));
    const found: string[] = [];
    for await (const { id } of caisson.listSandboxes({ status: "running" })) found.push(id);
    expect(found.sort()).toEqual(made.map(({ id }) => id).sort());
    await Promise.all(made.map((sandbox) => sandbox.destroy()));
  });
});
