import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ApiError } from "@caisson/sdk";
import { LocalError, openLocal } from "@caisson/sdk/local";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { readEnvironment } from "../../packages/server/src/config/env.ts";
import { Up, upTimeoutMs } from "../daemon/up.ts";
import { ordinary, root } from "../harness.ts";

const refusal = (opening: Promise<unknown>): Promise<unknown> =>
  opening.then(
    () => "opened",
    (error: unknown) => error,
  );

describe("openLocal", { timeout: upTimeoutMs }, () => {
  let up: Up;
  beforeAll(async () => {
    up = await Up.start();
  }, upTimeoutMs);
  afterAll(() => up[Symbol.asyncDispose](), upTimeoutMs);

  it("[IDN-03] [API-05] finds the daemon of the data folder, whatever its port, with its administrator's key", async () => {
    const caisson = await openLocal({ variables: { CAISSON_HOME: up.home } });
    expect((await caisson.keys.list()).map(({ name }) => name)).toContain("admin-key");
    const given = await openLocal({ home: up.home, variables: { CAISSON_HOME: "/nowhere", CAISSON_URL: "" } });
    expect(await given.queue()).toHaveProperty("waiting");
  });

  it("[API-05] takes the variables of its process", async () => {
    const code = `import { openLocal } from "@caisson/sdk/local";
      const caisson = await openLocal();
      await using sandbox = await caisson.createSandbox({ engine: "container" });
      console.log((await sandbox.exec("echo hello")).stdout.trim());`;
    const env = { PATH: process.env.PATH, CAISSON_HOME: up.home };
    const args = ["--input-type=module-typescript", "-e", code];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env, cwd: join(root, "packages/server") });
    expect(stdout).toBe("hello\n");
  });

  it("prefers the key and the address that are named, and refuses a wrong key by the daemon's word", async () => {
    const admin = await openLocal({ home: up.home, variables: {} });
    const { key } = await admin.keys.create({ name: "looker", role: "viewer" });
    const looker = await openLocal({ variables: { CAISSON_HOME: up.home, CAISSON_API_KEY: key } });
    await expect(looker.keys.list()).rejects.toMatchObject({ code: "forbidden" });
    const there = await openLocal({
      variables: { CAISSON_URL: up.base, CAISSON_API_KEY: key, CAISSON_HOME: "/nowhere" },
    });
    await expect(there.keys.list()).rejects.toMatchObject({ code: "forbidden" });
    const stranger = await openLocal({ variables: { CAISSON_URL: up.base, CAISSON_API_KEY: "csn_none" } });
    await expect(stranger.stats()).rejects.toBeInstanceOf(ApiError);
  });

  it("shows the administrator's key to no address that was named", async () => {
    const got: unknown[] = [];
    const other = createServer((request, response) => {
      got.push(request.headers["x-api-key"]);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    await (await openLocal({ variables: { CAISSON_URL: url, CAISSON_HOME: up.home } })).stats();
    other.close();
    expect(got).toEqual([undefined]);
  });

  it("has no administrator's key where an empty one is named", async () => {
    const nobody = await openLocal({ variables: { CAISSON_HOME: up.home, CAISSON_API_KEY: "" } });
    await expect(nobody.stats()).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("says so where the daemon does not answer", async () => {
    const home = await mkdtemp("/var/tmp/caisson-mute-");
    await mkdir(join(home, "run"));
    const mute = createNetServer().listen(join(home, "run/control"));
    await once(mute, "listening");
    const error = await refusal(openLocal({ home, variables: {}, timeoutMs: 100 }));
    mute.close();
    await rm(home, { recursive: true });
    expect(error).toMatchObject({ code: "unavailable", message: "the daemon of this data folder did not answer" });
  });

  it("[S85] sends the key over the Unix socket of the data folder, and not to the address of the daemon", async () => {
    const way = vi.spyOn(globalThis, "fetch");
    await using sandbox = await (await openLocal({ home: up.home, variables: {} })).createSandbox({
      engine: "container",
    });
    const bytes = randomBytes(3 * 1024 ** 2);
    await sandbox.files.write("big", bytes);
    expect(Buffer.from(await new Response(await sandbox.files.read("big")).bytes()).equals(bytes)).toBe(true);
    const typed: Buffer[] = [];
    const terminal = await sandbox.terminal({ command: "cat", onOutput: (data) => typed.push(Buffer.from(data)) });
    terminal.write(`${"x".repeat(60_000)}\n${"y".repeat(300)}\nend\n\x04`.replace(/.{1000}/g, "$&\n"));
    expect(await terminal.ended).toMatchObject({ exit_code: 0 });
    expect(Buffer.concat(typed).toString().match(/y/g)?.length).toBe(600); // the echo, and what cat wrote
    expect(way).not.toHaveBeenCalled();
    way.mockRestore();
  });

  it("[S85] finds a socket that only its user can open, with the same checks of Host and Origin", async () => {
    const socketPath = join(up.home, "run/api");
    const { mode, uid } = await stat(socketPath);
    expect([mode & 0o777, uid]).toEqual([0o600, process.geteuid?.()]);
    const ask = async (headers: Record<string, string>) => {
      const asked = request({ socketPath, path: "/healthz", headers }).end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    expect(await ask({ host: "localhost" })).toBe(200);
    expect(await ask({ host: "evil.example" })).toBe(403);
    expect(await ask({ host: "localhost", origin: "http://evil.example" })).toBe(403);
  });

  it.skipIf(ordinary)("[S85] sends no key to a socket that another account has made, or could replace", async () => {
    const parent = await mkdtemp("/var/tmp/caisson-foreign-");
    const home = join(parent, "data");
    const run = join(home, "run");
    await mkdir(run, { recursive: true });
    await writeFile(join(home, "admin-key"), "csn_of_the_administrator_0123456789");
    const sent: string[] = [];
    const api = createServer((request, response) => {
      sent.push(String(request.headers["x-api-key"]));
      response.writeHead(200, { "content-type": "application/json" }).end("[]");
    }).listen(join(run, "api"));
    const control = createNetServer((socket) => socket.end('{"address":"http://127.0.0.1:1"}')).listen(
      join(run, "control"),
    );
    await Promise.all([once(api, "listening"), once(control, "listening")]);
    const keys = async (at = home) => (await openLocal({ home: at, variables: {} })).keys.list();
    for (const path of [parent, home, run, join(run, "api")]) {
      await chown(path, 65_534, 65_534);
      expect(String(await refusal(keys()))).toContain(`${path} belongs to uid 65534`);
      await chown(path, 0, 0);
    }
    for (const path of [parent, home, run])
      for (const mode of [0o777, 0o731]) {
        await chmod(path, mode);
        expect(String(await refusal(keys()))).toContain(`${path} can be written by other users`);
        await chmod(path, 0o711);
      }
    const link = join(await mkdtemp("/var/tmp/caisson-link-"), "data");
    await symlink(home, link);
    await chown(parent, 65_534, 65_534);
    expect(String(await refusal(keys(link)))).toContain(`${parent} belongs to uid 65534`);
    await chown(parent, 0, 0);
    expect(sent).toEqual([]);
    const opened = await openLocal({ home: link, variables: {} });
    await rm(dirname(link), { recursive: true });
    expect(await opened.keys.list()).toEqual([]);
    expect(sent).toEqual(["csn_of_the_administrator_0123456789"]);
    api.close();
    control.close();
    await rm(parent, { recursive: true });
  });

  it("says so where the key is gone", async () => {
    const key = join(up.home, "admin-key");
    await rename(key, `${key}.away`);
    const error = await refusal(openLocal({ home: up.home, variables: {} }));
    await rename(`${key}.away`, key);
    expect(error).toBeInstanceOf(LocalError);
    expect(error).toMatchObject({ code: "unauthenticated", hint: "set CAISSON_API_KEY to use another key" });
    expect(String(error)).toContain(`cannot read the key in ${key} (ENOENT)`);
  });

  it("says so where no daemon runs, and looks where the daemon has its data", async () => {
    const empty = await mkdtemp("/var/tmp/caisson-none-");
    const error = await refusal(openLocal({ variables: { CAISSON_HOME: empty } }));
    await rm(empty, { recursive: true });
    expect(error).toBeInstanceOf(LocalError);
    expect(error).toMatchObject({ code: "unavailable", message: `no daemon is running for ${empty}` });
    expect((error as LocalError).hint).toContain("caisson up --detach");
    // Somebody may have a daemon there.
    const said = await refusal(openLocal({ variables: {} }));
    if (said !== "opened") expect(String(said)).toContain(readEnvironment({}).home);
  });
});
