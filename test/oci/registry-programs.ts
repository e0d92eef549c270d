import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { installPackage } from "../debian.ts";
import { ordinary } from "../harness.ts";

const programs = ["docker-registry", "skopeo", "umoci"];

/** Why there is no registry to test with, if there is none: Debian's are installed where root may. */
export function findNoRegistry(): string | undefined {
  const missing = () => programs.filter((name) => !existsSync(join("/usr/bin", name)));
  if (missing().length === 0) return undefined;
  if (ordinary) return `only root installs Debian's ${missing().join(", ")}`;
  for (const name of missing()) installPackage(name);
  return missing().length === 0 ? undefined : `Debian's ${missing().join(", ")} cannot be installed here`;
}

const run = promisify(execFile);

export const skopeo = (...args: string[]) => run("/usr/bin/skopeo", ["--insecure-policy", ...args]);
export const umoci = (...args: string[]) => run("/usr/bin/umoci", args);

/** Debian's registry, on a port of loopback that is free. */
export class DockerRegistry implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly host: string;

  private constructor(process: ChildProcess, host: string) {
    this.#process = process;
    this.host = host;
  }

  static async open(folder: string): Promise<DockerRegistry> {
    await mkdir(join(folder, "store"), { recursive: true });
    const config = {
      version: 0.1,
      storage: { filesystem: { rootdirectory: join(folder, "store") } },
      http: { addr: "127.0.0.1:0" },
    };
    const path = join(folder, "registry.yml");
    await writeFile(path, JSON.stringify(config));
    const started = spawn("/usr/bin/docker-registry", ["serve", path], { stdio: ["ignore", "ignore", "pipe"] });
    const lines = createInterface({ input: started.stderr });
    for await (const line of lines) {
      const host = /listening on (127\.0\.0\.1:\d+)/.exec(line)?.[1];
      if (host === undefined) continue;
      started.stderr.resume();
      return new DockerRegistry(started, host);
    }
    throw new Error("docker-registry does not start");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((done) => this.#process.once("exit", done));
    this.#process.kill("SIGKILL");
    await ended;
  }
}
