import { execFileSync } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError } from "../../packages/server/src/core/errors.ts";
import { engines, ordinary } from "../harness.ts";
import { openTestEngineServer } from "./engine-server.ts";
import { caisson, Up, upTimeoutMs } from "./up.ts";

interface ApiResponse {
  status: number;
  text: string;
  body: { id?: string; code?: string; detail?: string; origin?: string };
}

async function create(up: Up, body: object): Promise<ApiResponse> {
  const answer = await up.fetch("/api/v1/sandboxes", body);
  const text = await answer.text();
  return { status: answer.status, text, body: JSON.parse(text) as ApiResponse["body"] };
}

const stranger = 54_321;

describe("folders that the operator names", { timeout: upTimeoutMs }, () => {
  let outside: string;
  let up: Up;
  const folder = (name: string) => join(outside, name);

  beforeAll(async () => {
    outside = await mkdtemp("/var/tmp/caisson-folders-");
    for (const name of ["private", "odd", "swapped"]) await mkdir(folder(name));
    await writeFile(join(folder("private"), "data.txt"), "of another user\n", { mode: 0o600 });
    await writeFile(join(folder("swapped"), "data.txt"), "at first\n");
    if (!ordinary) {
      await chown(join(folder("private"), "data.txt"), stranger, stranger);
      await chown(folder("private"), stranger, stranger);
    }
    await chmod(folder("private"), 0o700);
    const names = ["private", "odd", "swapped"].map((name) => `${name}=${folder(name)}`);
    up = await Up.start({ variables: { CAISSON_FOLDERS_INPUT: names.join(",") } });
  }, upTimeoutMs);
  afterAll(async () => {
    await up[Symbol.asyncDispose]();
    await rm(outside, { recursive: true });
  }, upTimeoutMs);

  it.each(engines)(
    "[FIL-08] come in by their name, read-only, whoever owns them on the host (%s, hazard 19)",
    async (engine) => {
      const { status, text, body } = await create(up, { engine, input_folder: "private" });
      expect(status, text).toBe(201);
      expect(body.origin).toBe("cold: its input folder is copied as it starts");
      const id = body.id ?? "";
      expect(await up.exec(id, "cat input/data.txt")).toBe("of another user\n");
      const tries = ["echo x >> input/data.txt", "touch input/new", "rm -f input/data.txt", "chmod 777 input/data.txt"];
      for (const act of [...tries, "mv input other"])
        expect(await up.exec(id, `(${act}) 2>/dev/null && echo done || echo refused`), act).toBe("refused\n");
      expect(await up.exec(id, "cat input/data.txt")).toBe("of another user\n");
      expect(text).not.toContain(outside);
      expect(await up.delete(`/api/v1/sandboxes/${id}`)).toBe(204);
    },
  );

  it("are chosen by the command too", async () => {
    const made = await caisson(["create", "--engine", "container", "--input", "private"], up.variables);
    expect(made, made.stderr).toMatchObject({ code: 0 });
    const id = made.stdout.trim();
    expect(await up.exec(id, "ls input")).toBe("data.txt\n");
    expect(await up.delete(`/api/v1/sandboxes/${id}`)).toBe(204);
  });

  it("[FIL-08] do not exist where they were not named", async () => {
    const { status, body, text } = await create(up, { engine: "container", input_folder: "results" });
    expect(status, text).toBe(404);
    expect(body.detail).toBe("unknown input folder 'results'");
  });

  it.each(["/etc", "../private", "private/..", "Private", "", "a".repeat(33), "private\n"])(
    "are never named by what is no name: %j",
    async (name) => {
      const { status } = await create(up, { engine: "container", input_folder: name });
      expect(status).toBe(400);
    },
  );

  const door = createServer();
  const oddities: [string, string, () => Promise<unknown> | unknown][] = [
    ["a link that leaves it", "out", () => symlink("../private/data.txt", join(folder("odd"), "out"))],
    ["an absolute link", "absolute", () => symlink("/etc/hostname", join(folder("odd"), "absolute"))],
    ["a FIFO", "pipe", () => execFileSync("/usr/bin/mkfifo", [join(folder("odd"), "pipe")])],
    ["a socket", "door", () => new Promise<void>((resolve) => door.listen(join(folder("odd"), "door"), resolve))],
  ];
  it.each(oddities)("are refused with %s in them, by its name and no path", async (_, name, add) => {
    await add();
    try {
      const { status, body, text } = await create(up, { engine: "container", input_folder: "odd" });
      expect(status, text).toBe(400);
      expect(body.detail).toContain(name);
      expect(text).not.toContain(outside);
    } finally {
      door.close();
      await unlink(join(folder("odd"), name)).catch(() => undefined);
    }
  });

  it.skipIf(ordinary)("are refused with a mount in them, by its name and no path", async () => {
    const mount = join(folder("odd"), "mounted");
    await mkdir(mount);
    execFileSync("/usr/bin/mount", ["--bind", folder("private"), mount]);
    try {
      const { status, body, text } = await create(up, { engine: "container", input_folder: "odd" });
      expect(status, text).toBe(400);
      expect(body.detail).toContain("mounted is a mount point");
      expect(text).not.toContain(outside);
    } finally {
      execFileSync("/usr/bin/umount", [mount]);
      await rm(mount, { recursive: true });
    }
  });

  it("are not followed where a link takes their place, nor used when credentials come to lie in them", async () => {
    const refused = async () => {
      const { status, body, text } = await create(up, { engine: "container", input_folder: "swapped" });
      expect(status, text).toBe(503);
      expect(body.detail).toBe("cannot use the input folder 'swapped'");
      expect(text).not.toContain(outside);
    };
    await rename(folder("swapped"), folder("aside"));
    await symlink(folder("private"), folder("swapped"));
    await refused();
    await unlink(folder("swapped"));
    await refused();
    await rename(folder("aside"), folder("swapped"));
    await mkdir(join(folder("swapped"), ".ssh"));
    await refused();
    await rm(join(folder("swapped"), ".ssh"), { recursive: true });
    const { status, body } = await create(up, { engine: "container", input_folder: "swapped" });
    expect(status).toBe(201);
    expect(await up.delete(`/api/v1/sandboxes/${body.id}`)).toBe(204);
  });

  it("show their names and not their paths among the settings", async () => {
    const text = await (await up.fetch("/api/v1/config")).text();
    expect(text).toContain('["private","odd","swapped"]');
    expect(text).not.toContain(outside);
  });

  describe("are refused when the daemon starts", () => {
    const start = async (setting: string, code: number) => {
      const home = folder("home");
      await mkdir(home, { recursive: true });
      const refused = await caisson(["up"], { CAISSON_HOME: home, CAISSON_FOLDERS_INPUT: setting });
      expect(refused, refused.stderr).toMatchObject({ code, stdout: "" });
      return refused.stderr;
    };

    it("[FIL-08] where they hold credentials, belong to the system or to Caisson, or are none", async () => {
      await mkdir(folder("user/.ssh"), { recursive: true });
      await mkdir(folder("cloud/.config/gcloud/logs"), { recursive: true });
      await symlink(folder("private"), folder("link"));
      await writeFile(folder("file"), "");
      const cases: [string, RegExp][] = [
        [folder("user/.ssh"), /contains credentials \(\.ssh\)/],
        [folder("user"), /contains credentials \(\.ssh\)/],
        [folder("cloud/.config"), /contains credentials \(\.config\/gcloud\)/],
        [folder("cloud/.config/gcloud/logs"), /contains credentials \(\.config\/gcloud\)/],
        ["/", /Caisson's data folder|belongs to the system/],
        ["/etc/ssl", /belongs to the system/],
        ["/home", /belongs to the system/],
        [outside, /Caisson's data folder/],
        [folder("home"), /Caisson's data folder/],
        [folder("link"), /contains a symbolic link/],
        [folder("link/"), /not a plain absolute path/],
        [folder("file"), /is not a folder/],
        [folder("nowhere"), /cannot be opened \(ENOENT\)/],
        ["srv/data", /not a plain absolute path/],
      ];
      for (const [path, pattern] of cases) expect(await start(`data=${path}`, 125), path).toMatch(pattern);
    });

    it("where they have no name, or two have the same", async () => {
      expect(await start("/srv/data", 2)).toMatch(/'\/srv\/data' is not NAME=PATH\n.*data=\/srv\/data/);
      expect(await start("Data=/srv/data", 2)).toMatch(/is not NAME=PATH/);
      expect(await start("a=/srv/a,a=/srv/b", 2)).toMatch(/duplicate folder 'a'/);
    });
  });
});

describe("an engine that is asked for a folder", { timeout: upTimeoutMs }, () => {
  it("follows no link that appears in the path after it was looked at", async () => {
    const outside = await mkdtemp("/var/tmp/caisson-folders-");
    await mkdir(join(outside, "above/data"), { recursive: true });
    await mkdir(join(outside, "secret/data"), { recursive: true });
    const check = async () => {
      await rename(join(outside, "above"), join(outside, "before"));
      await symlink("secret", join(outside, "above"));
    };
    const folders = { input: [{ id: "data", path: join(outside, "above/data") }], output: [], check };
    try {
      await using host = await openTestEngineServer(undefined, folders);
      await using owner = await host.open();
      const refused = await owner.createSandbox({ engine: "container", folder: "data" }).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(refused).toBeInstanceOf(AppError);
      expect(String(refused)).toContain("cannot open the input folder 'data'");
      expect(String(refused)).not.toContain(outside);
    } finally {
      await rm(outside, { recursive: true });
    }
  });
});
