import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { readIfThere } from "../leaks.ts";

/** What an owner of kept-owner.ts can be asked. */
export type Question =
  | { ask: "create"; engine: EngineName; keep?: boolean }
  | { ask: "attach" | "pause"; id: string }
  | { ask: "start"; id: string; command: string; stdin?: boolean }
  | { ask: "wait" | "info" | "closeInput"; id: string; process: string }
  | { ask: "write"; id: string; process: string; text: string };

/** Its helpers hold its locks, and end a moment after it. */
function childrenOf(pid: number): number[] {
  return readIfThere(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
}

function isThere(pid: number): boolean {
  const command = readIfThere(`/proc/${pid}/cmdline`); // empty for one that waits to be reaped
  return command.includes("caisson-helper");
}

/** With -9, and waits for all of it to be gone. */
export async function killOwner(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const helpers = childrenOf(child.pid ?? 0);
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  while (helpers.some(isThere)) await sleep(5);
}

/** An owner in a process of its own, to be killed or stopped at any moment. */
export class Owner implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #number = 0;

  constructor(home: string) {
    const script = join(import.meta.dirname, "kept-owner.ts");
    this.#child = spawn(process.execPath, [script, home], { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdin?.on("error", () => undefined); // it was killed while it was asked
    if (this.#child.stdout === null) throw new Error("no pipe");
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#answer(line));
    this.#child.on("exit", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the owner has ended"));
    });
  }

  ask<T = void>(question: Question): Promise<T> {
    const gate = Promise.withResolvers<unknown>();
    gate.promise.catch(() => undefined); // an owner is often killed before it answers
    const number = ++this.#number;
    this.#waiting.set(number, gate);
    this.#child.stdin?.write(`${JSON.stringify({ number, question })}\n`);
    return gate.promise as Promise<T>;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  kill(): Promise<void> {
    return killOwner(this.#child);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  #answer(line: string): void {
    const { number, value, error } = JSON.parse(line) as { number: number; value?: unknown; error?: object };
    const gate = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (error === undefined) gate?.resolve(value);
    else gate?.reject(Object.assign(new Error("the owner answered with an error"), error));
  }
}
