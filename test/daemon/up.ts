import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { UpStatus } from "../../packages/server/src/processes/up.ts";
import { askControl } from "../../packages/server/src/supervision/control.ts";
import { makeDataFolder, removeDataFolder } from "../data-folder.ts";
import { root, soak } from "../harness.ts";

/** Each start is three processes and a copy of Node: slow where others compute too. */
export const upTimeoutMs = soak ? 3_600_000 : 180_000;

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface UpOptions {
  home?: string;
  variables?: Record<string, string>;
  /** Another program than the launcher of this checkout. */
  program?: readonly string[];
}

/** Below the ports that the kernel gives to others. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + randomInt(10_000);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await new Promise((resolve) =>
      server.once("listening", () => resolve(true)).once("error", () => resolve(false)),
    );
    await new Promise((resolve) => server.close(resolve));
    if (isFree) return port;
  }
}

/** `caisson` with the variables of a test, to its end. */
export async function caisson(args: readonly string[], variables: Record<string, string>): Promise<Outcome> {
  const options = { env: environment(variables), timeout: 170_000 };
  const child = spawn(join(root, "caisson"), args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  return collect(child);
}

function environment(variables: Record<string, string>): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("CAISSON_"));
  return { ...Object.fromEntries(others), ...variables };
}

async function collect(child: ChildProcess): Promise<Outcome> {
  const output = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  const [code] = await once(child, "close");
  return { code, ...output };
}

/** A daemon in the foreground, in a data folder of its own; its end checks that nothing was left behind. */
export class Up implements AsyncDisposable {
  readonly home: string;
  readonly base: string;
  readonly variables: Record<string, string>;
  /** All it said on its standard output. */
  readonly said: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<Outcome>;

  private constructor(child: ChildProcess, ended: Promise<Outcome>, said: string, variables: Record<string, string>) {
    this.#child = child;
    this.#ended = ended;
    this.said = said;
    this.variables = variables;
    this.home = variables.CAISSON_HOME ?? "";
    this.base = /https?:\S+:\d+/.exec(said)?.[0] ?? "";
  }

  static async start({ home, variables = {}, program }: UpOptions = {}): Promise<Up> {
    const all = {
      CAISSON_HOME: home ?? (await makeDataFolder("/var/tmp/caisson-up-")),
      CAISSON_PORT: String(await freePort()),
      CAISSON_POOL_SIZE: "0",
      CAISSON_MAX_STORAGE_MB: "64",
      CAISSON_MAX_RAM_MB: "128",
      ...variables,
    };
    const [file = join(root, "caisson"), ...words] = program ?? [];
    const child = spawn(file, [...words, "up"], {
      env: environment(all),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = collect(child);
    const said = new Promise<string>((resolve) => {
      let text = "";
      child.stdout?.on("data", (chunk: string) => {
        text += chunk;
        if (text.includes("admin-key")) resolve(text);
      });
    });
    const first = await Promise.race([said, ended]);
    if (typeof first !== "string") throw new Error(`caisson up ended with ${first.code}: ${first.stderr}`);
    return new Up(child, ended, first, all);
  }

  async status(): Promise<UpStatus> {
    const status = await askControl<UpStatus>(join(this.home, "run/control"), "status");
    if (status === undefined) throw new Error("it does not run");
    return status;
  }

  /** Waits until a new daemon has taken over from the one that was. */
  async waitForRestart(former: UpStatus): Promise<UpStatus> {
    for (;;) {
      const status = await this.status();
      if (status.ready && status.restarts > former.restarts) return status;
      await sleep(50);
    }
  }

  async fetch(path: string, body?: object): Promise<Response> {
    const key = (await readFile(join(this.home, "admin-key"), "utf8")).trim();
    return fetch(this.base + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { "x-api-key": key, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async delete(path: string): Promise<number> {
    const key = (await readFile(join(this.home, "admin-key"), "utf8")).trim();
    return (await fetch(this.base + path, { method: "DELETE", headers: { "x-api-key": key } })).status;
  }

  /** A new sandbox's id. */
  async create(engine: string): Promise<string> {
    const answer = await this.fetch("/api/v1/sandboxes", { engine });
    const { id, detail } = (await answer.json()) as { id?: string; detail?: string };
    if (id === undefined) throw new Error(`${answer.status}: ${detail}`);
    return id;
  }

  async exec(id: string, command: string): Promise<string> {
    const answer = await this.fetch(`/api/v1/sandboxes/${id}/exec`, { command });
    const { stdout, detail } = (await answer.json()) as { stdout?: string; detail?: string };
    if (stdout === undefined) throw new Error(`${answer.status}: ${detail}`);
    return stdout;
  }

  /** Ends it in order. */
  async stop(): Promise<Outcome> {
    this.#child.kill("SIGTERM");
    return this.#ended;
  }

  get ended(): Promise<Outcome> {
    return this.#ended;
  }

  /** As if the machine had taken it: nothing in it runs on. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    {
      await using owner = openCaisson({ home: this.home, root });
      for (const { id } of await owner.keptSandboxes()) await owner.destroySandbox(id);
    }
    await removeDataFolder(this.home);
  }
}
