import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { CertificatePem } from "../../packages/server/src/core/certificate.ts";
import { installPackage } from "../debian.ts";
import { ordinary } from "../harness.ts";

const program = "/usr/bin/caddy";

/** Why there is no Caddy to test with, if there is none: Debian's is installed where root may. */
export function findNoCaddy(): string | undefined {
  if (existsSync(program)) return undefined;
  if (ordinary) return "only root installs Debian's caddy";
  installPackage("caddy");
  return existsSync(program) ? undefined : "Debian's caddy cannot be installed here";
}

interface CaddyOptions extends CertificatePem {
  folder: string;
  names: readonly string[];
  port: number;
  /** Address of the server behind it. */
  target: string;
}

/** Debian's Caddy in front of a daemon, on loopback. */
export class Caddy implements AsyncDisposable {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  static async open({ folder, names, port, target, cert, key }: CaddyOptions): Promise<Caddy> {
    await mkdir(folder, { recursive: true });
    const at = (name: string) => join(folder, name);
    await writeFile(at("cert.pem"), cert);
    await writeFile(at("key.pem"), key);
    const lines = [
      "{\n admin off\n auto_https disable_redirects\n}",
      `${names.map((name) => `https://${name}:${port}`).join(", ")} {`,
      ` bind 127.0.0.1\n tls ${at("cert.pem")} ${at("key.pem")}\n reverse_proxy ${target}\n}\n`,
    ];
    await writeFile(at("Caddyfile"), lines.join("\n"));
    const started = spawn(program, ["run", "--config", at("Caddyfile"), "--adapter", "caddyfile"], {
      env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const said: string[] = [];
    for await (const line of createInterface({ input: started.stderr })) {
      said.push(line);
      if (!line.includes("serving initial configuration")) continue;
      started.stderr.resume();
      return new Caddy(started);
    }
    throw new Error(`caddy does not start: ${said.join("\n")}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((done) => this.#process.once("exit", done));
    this.#process.kill("SIGKILL");
    await ended;
  }
}
