import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { installPackage } from "../debian.ts";

const programs = () => globSync("/usr/lib/postgresql/*/bin").sort().at(-1);

/** Debian's server on a socket in a folder of its own, as its own user: it refuses to be root. */
export class PostgresServer implements AsyncDisposable {
  readonly folder: string;
  readonly #end: () => Promise<void>;

  private constructor(folder: string, end: () => Promise<void>) {
    this.folder = folder;
    this.#end = end;
  }

  static async start(): Promise<PostgresServer> {
    if (programs() === undefined) installPackage("postgresql");
    const bin = programs() ?? "";
    const [, uid = "", gid = ""] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync("/etc/passwd", "utf8")) ?? [];
    const user = { uid: Number(uid), gid: Number(gid) };
    const folder = await mkdtemp("/var/tmp/caisson-postgres-");
    await chown(folder, user.uid, user.gid);
    const data = join(folder, "data");
    const made = spawnSync(join(bin, "initdb"), ["-D", data, "-A", "trust", "-E", "UTF8", "--locale=C"], {
      ...user,
      cwd: folder,
      encoding: "utf8",
    });
    if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`);
    const words = ["-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"];
    const server = spawn(join(bin, "postgres"), words, { ...user, cwd: folder, stdio: "ignore" });
    const ended = once(server, "exit");
    const opened = new PostgresServer(folder, async () => {
      server.kill("SIGTERM"); // once the last of its connections is closed
      await ended;
      await rm(folder, { recursive: true });
    });
    for (;;) {
      if (server.exitCode !== null) throw new Error("the server has ended");
      const works = await opened.run("select 1").catch(() => undefined);
      if (works !== undefined) return opened;
      await sleep(50);
    }
  }

  connection(database: string): pg.PoolConfig {
    return { host: this.folder, user: "postgres", database };
  }

  async run(statement: string): Promise<unknown> {
    const client = new pg.Client(this.connection("postgres"));
    await client.connect();
    try {
      return await client.query(statement);
    } finally {
      await client.end();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#end();
  }
}
