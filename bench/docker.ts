import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { access, copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { programPath } from "./native-programs.ts";
import { type Outcome, runProgram } from "./program.ts";
import { endsWithBench } from "./running.ts";

const daemonPath = "/usr/sbin/dockerd";
const clientPath = "/usr/bin/docker";
const tarPath = "/usr/bin/tar";
const image = "caisson-bench";
/** Its only file. */
export const helloPath = "/bin/hello";
const startMs = 60_000;

/** Debian's docker.io with a data root of its own and no network; it ends with the benchmark. */
export class Docker implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #socket: string;
  readonly #forget: () => void;

  private constructor(child: ChildProcess, socket: string) {
    this.#child = child;
    this.#socket = socket;
    this.#forget = endsWithBench(this);
  }

  /** Undefined, with the reason told, where it does not run. */
  static async start(home: string, tell: (why: string) => void): Promise<Docker | undefined> {
    for (const path of [daemonPath, clientPath])
      if (!(await isThere(path))) return void tell(`${path} is not installed (Debian's docker.io)`);
    for (const driver of ["overlay2", "vfs"]) {
      const folder = join(home, `docker-${driver}`);
      await mkdir(folder, { recursive: true });
      const docker = Docker.#spawn(folder, driver);
      if (await docker.#answers()) {
        await docker.#importImage(folder);
        return docker;
      }
      await docker[Symbol.asyncDispose]();
    }
    tell("dockerd does not start here");
    return undefined;
  }

  static #spawn(folder: string, driver: string): Docker {
    const socket = join(folder, "socket");
    const places = { "data-root": "data", "exec-root": "exec", pidfile: "pid" };
    const args = Object.entries(places).map(([name, file]) => `--${name}=${join(folder, file)}`);
    const rest = [`--host=unix://${socket}`, `--storage-driver=${driver}`, "--iptables=false", "--bridge=none"];
    const child = spawn(daemonPath, [...args, ...rest], {
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
      stdio: "ignore",
    });
    child.on("error", () => undefined); // it never answers
    return new Docker(child, socket);
  }

  async #answers(): Promise<boolean> {
    for (const since = performance.now(); performance.now() - since < startMs; await sleep(200)) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) return false;
      const isUp = await this.#docker("version").then(
        () => true,
        () => false,
      );
      if (isUp) return true;
    }
    return false;
  }

  /** An image of one program, as small as can be. */
  async #importImage(folder: string): Promise<void> {
    await mkdir(join(folder, "bin"), { recursive: true });
    await copyFile(programPath("hello"), join(folder, "bin/hello"));
    await runProgram(tarPath, ["-C", folder, "-cf", join(folder, "image.tar"), "bin"]);
    await this.import(join(folder, "image.tar"), image);
  }

  /** Makes an image of an archive; changes are in the words of a Dockerfile. */
  async import(archive: string, name: string, ...changes: string[]): Promise<void> {
    await this.#docker("import", ...changes.flatMap((change) => ["--change", change]), archive, name);
  }

  /** Where its clients find it. */
  get address(): string {
    return `unix://${this.#socket}`;
  }

  #docker(...args: string[]): Promise<Outcome> {
    return runProgram(clientPath, ["--host", this.address, ...args]);
  }

  /** The image of that one program, as an archive. */
  async saveHello(path: string): Promise<void> {
    await this.#docker("save", "--output", path, image);
  }

  runHello(): Promise<Outcome> {
    return this.#docker("run", "--rm", "--network=none", image, helloPath);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#forget();
    if (this.#child.pid === undefined || this.#child.exitCode !== null) return;
    const ended = once(this.#child, "close");
    this.#child.kill("SIGTERM");
    await ended;
  }
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
