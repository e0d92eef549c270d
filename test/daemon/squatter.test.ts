import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { ordinary, soak } from "../harness.ts";
import { caisson, Up, upTimeoutMs } from "./up.ts";

const kills = soak ? 20 : 2;
const nobody = 65_534;

/** A local account that wants the ports of a daemon; says what it got. */
class Squatter implements AsyncDisposable {
  readonly #child: ReturnType<typeof spawn>;
  #said = "";

  private constructor(child: ReturnType<typeof spawn>) {
    this.#child = child;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#said += text;
    });
  }

  static async start(base: string): Promise<Squatter> {
    const script = await readFile(join(import.meta.dirname, "squatter.cjs"), "utf8");
    const port = Number(new URL(base).port);
    const options = { ...(ordinary ? {} : { uid: nobody, gid: nobody }), cwd: "/", env: {} };
    const args = ["-e", script, String(port), String(port + 1)];
    const child = spawn(process.execPath, args, { ...options, stdio: ["ignore", "pipe", "inherit"] });
    const squatter = new Squatter(child);
    await once(child.stdout as NodeJS.ReadableStream, "data");
    return squatter;
  }

  get said(): string[] {
    return this.#said.split("\n").filter((line) => line !== "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }
}

describe("the ports of a daemon", { timeout: upTimeoutMs }, () => {
  it("[S85] are taken by no other account while it starts again, and requests wait", async () => {
    await using up = await Up.start();
    await using squatter = await Squatter.start(up.base);
    let status = await up.status();
    const ended: unknown[] = [];
    for (let kill = 0; kill < kills && squatter.said.length === 1; kill++) {
      const pid = status.daemon?.pid ?? 0;
      process.kill(pid, "SIGKILL");
      // What it accepts in its last moments is reset; all else waits for the next one.
      await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), { timeout: 10_000, interval: 2 });
      const [listed, answer] = await Promise.all([
        caisson(["ls", "--json"], up.variables),
        fetch(`${up.base}/healthz`),
      ]);
      ended.push([listed.code, listed.stdout.trim(), listed.stderr.trim(), answer.status]);
      status = await up.waitForRestart(status);
    }
    expect(squatter.said).toEqual(["trying"]);
    expect(ended).toEqual(Array.from({ length: kills }, () => [0, "[]", "", 200]));
  });

  it("[S85] lead to no key once another account has them after the end of caisson up", async () => {
    await using up = await Up.start();
    await using squatter = await Squatter.start(up.base);
    up.kill();
    await up.ended;
    await vi.waitFor(() => expect(squatter.said).toContain("bound"), { timeout: 60_000, interval: 50 });
    const listed = await caisson(["ls", "--json"], up.variables);
    expect(listed).toMatchObject({ code: 125, stdout: "" });
    expect(listed.stderr).toContain(`no daemon is running for ${up.home}`);
    expect(squatter.said.filter((line) => line !== "bound")).toEqual(["trying"]);
  });
});
