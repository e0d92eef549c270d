import { closeSync, constants, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { chmod, copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CreatedSandbox, EngineName, SandboxLimits } from "../../packages/server/src/core/engine.ts";
import { errnoOf } from "../../packages/server/src/core/errors.ts";
import { createOciEngine } from "../../packages/server/src/engines/oci/engine.ts";
import type { OciEngineOptions } from "../../packages/server/src/engines/oci/engine-options.ts";
import { prepareHostImage } from "../../packages/server/src/engines/root/host-image.ts";
import { findLeaks } from "../leaks.ts";

export const engineNames: EngineName[] = ["container", "gvisor"];
const root = join(import.meta.dirname, "../..");
export const helperPath = join(root, ".build/bin/caisson-helper");
/** Made once for all tests: it holds some eight hundred files. */
const sharedImage = prepareHostImage({ home: join(root, ".build/test-engine") });

const MiB = 1024 * 1024;
export const limits: SandboxLimits = {
  memoryBytes: 256 * MiB,
  cpus: 1,
  cpuShares: 1024,
  processes: 64,
  storageBytes: 64 * MiB,
};

/** A data folder of its own, with a copy of the puppet that sandboxes may read; the end checks for leaks (SBX-17). */
export async function makeHome() {
  const home = await mkdtemp(join(tmpdir(), "caisson-engine-"));
  const puppetPath = join(home, "puppet");
  await copyFile(join(import.meta.dirname, "puppet.py"), puppetPath);
  await chmod(puppetPath, 0o755);
  const dispose = async () => {
    const leaks = findLeaks(home);
    await rm(home, { recursive: true, force: true });
    if (leaks.length > 0) throw new Error(`left behind:\n  ${leaks.join("\n  ")}`);
  };
  return { home, puppetPath, [Symbol.asyncDispose]: dispose };
}

type Home = Awaited<ReturnType<typeof makeHome>>;

/** An engine whose sandboxes run the puppet. */
export async function openEngine(name: EngineName, { home, puppetPath }: Home, more: Partial<OciEngineOptions> = {}) {
  const image = more.image ?? (await sharedImage);
  return createOciEngine({ name, home, image, guestPath: puppetPath, helperPath, ...more });
}

/** Talks to the puppet in a sandbox, as its owner would to the guest. */
export class Puppet implements Disposable {
  readonly toGuest: number;
  readonly #fromGuest: number;
  #rest = "";

  constructor(sandbox: CreatedSandbox) {
    const flags = constants.O_RDWR | constants.O_NONBLOCK;
    this.toGuest = openSync(sandbox.toGuestPath, flags);
    this.#fromGuest = openSync(sandbox.fromGuestPath, flags);
  }

  /** The value of a Python expression, or null after a statement; both run as the sandbox's user. */
  async run(code: string): Promise<unknown> {
    writeSync(this.toGuest, `${JSON.stringify(code)}\n`);
    const answer = JSON.parse(await this.#line()) as { value?: unknown; error?: string };
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.value;
  }

  [Symbol.dispose](): void {
    closeSync(this.toGuest);
    closeSync(this.#fromGuest);
  }

  async #line(): Promise<string> {
    const buffer = Buffer.alloc(65_536);
    for (const deadline = Date.now() + 20_000; !this.#rest.includes("\n"); ) {
      try {
        this.#rest += buffer.toString("utf8", 0, readSync(this.#fromGuest, buffer));
      } catch (error) {
        if (errnoOf(error) !== "EAGAIN") throw error;
        if (Date.now() > deadline) throw new Error("the puppet does not answer");
        await sleep(2);
      }
    }
    const end = this.#rest.indexOf("\n");
    const line = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end + 1);
    return line;
  }
}

export function uidsOf(pid: number): number[] {
  const line = /^Uid:\s*(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return line?.split(/\s+/).map(Number) ?? [];
}
