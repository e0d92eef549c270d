import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openCaisson } from "../packages/server/src/app.ts";
import type { EngineName } from "../packages/server/src/core/engine.ts";
import { AppError } from "../packages/server/src/core/errors.ts";
import type { UpStatus } from "../packages/server/src/processes/up.ts";
import { askControl } from "../packages/server/src/supervision/control.ts";
import { root } from "./native-programs.ts";
import { Rest, toJson } from "./rest.ts";
import { endsWithBench } from "./running.ts";

export interface DaemonOptions {
  home: string;
  engine: EngineName;
  poolSize: number;
  /** Other settings, by their variable. */
  settings?: Readonly<Record<string, string>>;
}

const fillMs = 300_000;

type RunningStatus = UpStatus & Record<"engine" | "daemon", NonNullable<UpStatus["engine"]>>;

interface Pool {
  size: number;
  ready: number;
  starting: number;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** `caisson up` as anybody starts it, in a data folder of its own. */
export class Daemon implements AsyncDisposable {
  readonly rest: Rest;
  readonly home: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #forget: () => void;

  private constructor(child: ChildProcess, ended: Promise<unknown>, home: string, rest: Rest) {
    this.#child = child;
    this.#ended = ended;
    this.home = home;
    this.rest = rest;
    this.#forget = endsWithBench(this);
  }

  static async start({ home, engine, poolSize, settings = {} }: DaemonOptions): Promise<Daemon> {
    const port = await freePort();
    const env = {
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: "/root",
      CAISSON_HOME: home,
      CAISSON_PORT: String(port),
      CAISSON_ENGINE: engine,
      CAISSON_POOL_SIZE: String(poolSize),
      CAISSON_MAX_STORAGE_MB: "64",
      ...settings,
    };
    const child = spawn(join(root, "caisson"), ["up"], { env, stdio: ["ignore", "pipe", "pipe"] });
    const ended = once(child, "close");
    let said = "";
    let wrong = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      wrong = (wrong + chunk).slice(-4096);
    });
    const ready = new Promise<void>((resolve) => {
      child.stdout?.on("data", (chunk: Buffer) => {
        said += chunk;
        if (said.includes("admin-key")) resolve();
      });
    });
    const isReady = await Promise.race([ready.then(() => true), ended.then(() => false)]);
    if (!isReady) throw new Error(`caisson up ended: ${wrong}`);
    const key = (await readFile(join(home, "admin-key"), "utf8")).trim();
    return new Daemon(child, ended, home, new Rest(`http://127.0.0.1:${port}`, key));
  }

  async status(): Promise<RunningStatus> {
    const status = await askControl<UpStatus>(join(this.home, "run/control"), "status");
    if (status?.engine == null || status.daemon === null) throw new Error("the daemon does not run");
    return { ...status, engine: status.engine, daemon: status.daemon };
  }

  async pids(): Promise<{ engine: number; daemon: number }> {
    const { engine, daemon } = await this.status();
    return { engine: engine.pid, daemon: daemon.pid };
  }

  /** Until the pool is full and nothing starts. */
  async poolFull(): Promise<void> {
    for (const since = performance.now(); performance.now() - since < fillMs; await sleep(5)) {
      const pools = await this.rest.get<Pool[]>("/api/v1/pool");
      if (pools.length > 0 && pools.every(({ ready, size, starting }) => ready >= size && starting === 0)) return;
    }
    throw new Error(`the pool was not full after ${fillMs} ms`);
  }

  /** An image of what `docker save` wrote. */
  async loadImage(name: string, archive: string): Promise<void> {
    const asked = await this.rest.call("POST", `/api/v1/images/archive?name=${name}`, await readFile(archive));
    const { id } = toJson<{ id: string }>(asked);
    for (const since = performance.now(); performance.now() - since < fillMs; await sleep(50)) {
      const { state, error } = await this.rest.get<{ state: string; error: string | null }>(`/api/v1/images/${id}`);
      if (state === "ready") return;
      if (state === "failed") throw new Error(`no image ${name}: ${error}`);
    }
    throw new Error(`image ${name} was not made after ${fillMs} ms`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#forget();
    this.rest[Symbol.dispose]();
    this.#child.kill("SIGTERM");
    await this.#ended;
    await using owner = openCaisson({ home: this.home, root });
    for (const { id } of await owner.keptSandboxes())
      await owner.destroySandbox(id).catch((error: unknown) => {
        if (!(error instanceof AppError && error.code === "not_found")) throw error; // it was going already
      });
  }
}
