import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { ApiError } from "@caisson/sdk";
import { LocalError, openLocal } from "@caisson/sdk/local";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readEnvironment } from "../../packages/server/src/config/env.ts";
import { Up, upTimeoutMs } from "../daemon/up.ts";
import { root } from "../harness.ts";

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

  it("says so where the key is gone", async () => {
    const key = join(up.home, "admin-key");
    await rename(key, `${key}.away`);
    const error = await refusal(openLocal({ home: up.home, variables: {} }));
    await rename(`${key}.away`, key);
    expect(error).toBeInstanceOf(LocalError);
    expect(error).toMatchObject({ code: "unauthenticated", hint: "CAISSON_API_KEY names another" });
    expect(String(error)).toContain(`the key in ${key} cannot be read (ENOENT)`);
  });

  it("says so where no daemon runs, and looks where the daemon has its data", async () => {
    const empty = await mkdtemp("/var/tmp/caisson-none-");
    const error = await refusal(openLocal({ variables: { CAISSON_HOME: empty } }));
    await rm(empty, { recursive: true });
    expect(error).toBeInstanceOf(LocalError);
    expect(error).toMatchObject({ code: "unavailable", message: `no daemon of ${empty} runs` });
    expect((error as LocalError).hint).toContain("caisson up --detach");
    // Somebody may have a daemon there.
    const said = await refusal(openLocal({ variables: {} }));
    if (said !== "opened") expect(String(said)).toContain(readEnvironment({}).home);
  });
});
